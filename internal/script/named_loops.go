// SPDX-License-Identifier: Apache-2.0

package script

import (
	"embed"
	"fmt"
	"strings"

	"snug/internal/pysrc"
)

//go:embed examples
var loops embed.FS

// Named returns the loop with a name: one of snug's own short scripts in the usual style.
func Named(name string) (*pysrc.File, error) {
	path := "examples/" + name + ".py"
	src, err := loops.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("unknown loop %q", name)
	}
	return pysrc.Parse(path, src)
}

// isNamed reports whether the loop is known by name; its settings come from the setup.
func (in *interpreter) isNamed() bool { return strings.HasPrefix(in.File.Path, "examples/") }

// ourNames returns the module that these loops import: settings from the setup, loader for training batches,
// eval_loader for evaluation batches, load_model for the setup's model, and load_reference for a second model without
// adapters.
func (in *interpreter) ourNames() *scope {
	s := &scope{file: in.File, isModule: true}
	s.globals = s
	settings := &dict{record: true}
	for name, v := range in.Settings {
		settings.set(name, v)
	}
	settings.set("evaluation", in.Evaluation.record())
	s.vars.set("settings", settings)
	s.vars.set("load_model", namespace("snug.load_model"))
	s.vars.set("load_reference", namespace("snug.load_reference"))
	s.vars.set("loader", &loader{of: unknown{}, batch: in.Batch, size: -1})
	batches, batch := in.Evaluation.Batches, in.Evaluation.Batch
	s.vars.set("eval_loader", &loader{of: &samples{n: batches * batch}, batch: batch, size: batches, evaluates: true})
	return s
}
