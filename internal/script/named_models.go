// SPDX-License-Identifier: Apache-2.0

package script

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"snug/internal/shadow"
)

// maxSeen is the maximum number of unknown models that are listed.
const maxSeen = 4

// saw records the dotted name of a class or function that may make a model.
func (in *interpreter) saw(path string) {
	_, last, _ := cutLast(path)
	lower := strings.ToLower(path)
	isClass := last != "" && last[0] >= 'A' && last[0] <= 'Z'
	if name, inTorch := strings.CutPrefix(path, "torch."); inTorch && !strings.Contains(name, ".") {
		return // torch.Generator, torch.Size: not models
	}
	if strings.HasPrefix(path, "torchvision.transforms.") {
		return
	}
	if !isClass && !strings.Contains(lower, "model") || strings.Contains(lower, "token") || strings.Contains(lower, "dataset") || strings.HasPrefix(path, "builtins.") {
		return
	}
	in.lists(path)
}

// lists adds an unknown model to the list, once.
func (in *interpreter) lists(name string) {
	if strings.HasPrefix(in.scope().file.Path, libraryFolder) || len(in.result.UnknownModels) >= maxSeen {
		return
	}
	if text := fmt.Sprintf("%s (%s)", name, in.place()); !slices.Contains(in.result.UnknownModels, text) {
		in.result.UnknownModels = append(in.result.UnknownModels, text)
	}
}

// Models that a script loads by name. One of them is the setup's; the others have their own configurations.

// another returns the configuration of a named model, or nil if the model is the setup's or is counted as if it
// were.
func (in *interpreter) another(name value) map[string]any {
	text, ok := name.(string)
	if !ok {
		return nil
	}
	own, found := in.configOf(text)
	switch {
	case found && own == nil:
		in.model = cmp.Or(in.model, text)
		return nil
	case text == in.model:
		return nil
	case in.model == "" && !in.namesSetup():
		in.model = text
		return nil
	case !found:
		in.note("the model %s is assumed to be as large as the setup's own", text)
	}
	return own
}

// namesSetup reports whether the command line names the setup's model.
func (in *interpreter) namesSetup() bool {
	for _, arg := range in.Args {
		if _, after, ok := strings.Cut(arg, "="); ok {
			arg = after
		}
		if own, found := in.configOf(arg); found && own == nil {
			return true
		}
	}
	return false
}

// configOf finds the configuration for a name; own is nil if it describes the setup's model.
func (in *interpreter) configOf(name string) (own map[string]any, found bool) {
	if in.Named == nil {
		return nil, false
	}
	c, known := in.configs[name]
	if !known {
		c.own, c.found = in.Named(name)
		in.configs[name] = c
	}
	return c.own, c.found
}

// foundConfig is the result of looking up a model's name.
type foundConfig struct {
	own   map[string]any
	found bool
}

// stored returns the dtype of the weights that from_pretrained reads.
func (n *network) stored(in *interpreter) shadow.DType {
	if n.loading.Own == nil {
		return in.Stored
	}
	for _, key := range []string{"dtype", "torch_dtype"} {
		if name, ok := n.loading.Own[key].(string); ok {
			if dt, ok := constants["torch."+name].(dtypeValue); ok {
				return shadow.DType(dt)
			}
		}
	}
	return shadow.None
}
