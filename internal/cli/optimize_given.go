// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"snug/internal/config"
	"snug/internal/config/systems"
	"snug/internal/setup"
)

// A plan starts from the settings of the files, overridden by flags. A flag's value must be written too, even if
// the plan keeps it: with the files' own value, the recommended batch may not fit.

// givenOver returns the settings that flags set differently from the project's files. It includes the number of
// GPUs and the model only if a file sets them.
func givenOver(project *config.Project, over map[string]any) setup.Values {
	files := setup.Flat(project.Fields())
	if name := project.Value("model"); name != nil {
		files = files.With("model.name", name)
	}
	var out setup.Values
	for _, v := range setup.Flat(over) {
		was := files.Get(v.Setting)
		known := v.Setting == "model.name" || slices.Contains(systems.SettingNames(), v.Setting)
		if !known || reflect.DeepEqual(was, v.Value) {
			continue
		}
		if was == nil && (v.Setting == "model.name" || strings.HasPrefix(v.Setting, "dist.")) {
			continue
		}
		out = append(out, v)
	}
	return out
}

// givenText returns what the introduction says about the settings that flags replaced, or "".
func givenText(given setup.Values) string {
	var flags []string
	for _, v := range given {
		if flag := flagOf(v.Setting); flag != "" {
			flags = append(flags, "--"+flag)
		}
	}
	if len(flags) == 0 {
		return ""
	}
	return ", with " + strings.Join(slices.Compact(flags), ", ") + " in place of what the files say"
}

// addGiven adds the settings that flags gave and the plan keeps to the settings to write. It adds a note for each
// that the files cannot contain.
func (w *wanted) addGiven(project *config.Project) error {
	kept, err := fromSettings(slices.DeleteFunc(slices.Clone(w.given), func(v setup.Value) bool {
		return v.Setting == "model.name" || w.values.Get(v.Setting) != nil
	}))
	if err != nil {
		return err
	}
	files := setup.Flat(project.Fields())
	for _, v := range kept.values {
		_, err := project.Change(setup.Assign(v.Setting, v.Value))
		switch {
		case err == nil:
			w.values = w.values.With(v.Setting, v.Value)
		case files.Get(v.Setting) != nil:
			w.notes = append(w.notes, fmt.Sprintf("the plan is for --%s %v, which cannot be written: %s", flagOf(v.Setting), v.Value, oneLine(err.Error())))
		}
	}
	if name := w.given.Get("model.name"); name != nil {
		w.notes = append(w.notes, fmt.Sprintf("the plan is for --model %v; the files train %v", name, project.Value("model")))
	}
	w.given = nil
	return nil
}
