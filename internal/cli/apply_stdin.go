// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"snug/internal/config"
	"snug/internal/config/edits"
	"snug/internal/config/systems"
	"snug/internal/files"
	"snug/internal/setup"
)

// wanted contains the settings to write, and notes about settings that no file can contain.
type wanted struct {
	values    setup.Values
	elsewhere []string
	// advised is set if the settings come from optimize: they are all that it considered, not only those that the
	// user wants written.
	advised bool
	given   setup.Values // settings that optimize's flags set differently from the files
	notes   []string     // what cannot be written, and why
}

// plan plans the edits. If the settings are advice, a setting that is off and has no key in the files is
// skipped, and so are allocator options that no file can contain.
func (w *wanted) plan(project *config.Project) (edits.Plan, error) {
	if err := w.addGiven(project); err != nil {
		return edits.Plan{}, err
	}
	plan, err := project.Change(w.values)
	if err == nil || !w.advised {
		return plan, err
	}
	if conf := w.values.Get("allocator"); conf != nil {
		if _, err := project.Change(setup.Assign("allocator", conf)); err != nil {
			w.elsewhere = append(w.elsewhere, fmt.Sprintf("allocator=%v", conf))
			w.values = slices.DeleteFunc(slices.Clone(w.values), func(v setup.Value) bool { return v.Setting == "allocator" })
			return w.plan(project)
		}
	}
	kept := slices.DeleteFunc(slices.Clone(w.values), func(v setup.Value) bool { return v.Value == false && project.Value(v.Setting) == nil })
	if len(kept) == len(w.values) {
		return plan, err
	}
	return project.Change(kept)
}

// optimized is the part of snug optimize's answer that apply needs.
type optimized struct {
	Error   string       `json:"error"`
	Given   setup.Values `json:"given"`
	Current struct {
		Settings setup.Values `json:"settings"`
	} `json:"current"`
	Recommended struct {
		Settings setup.Values `json:"settings"`
	} `json:"recommended"`
	Ladder []struct {
		Name     string       `json:"name"`
		Settings setup.Values `json:"settings"`
	} `json:"ladder"`
}

// maxAnswer is larger than any answer of optimize.
const maxAnswer = 16 << 20

// readOptimized reads the answer of snug optimize --json.
func readOptimized(in io.Reader, rung string) (wanted, error) {
	data, err := files.ReadAll(in, maxAnswer)
	if err != nil {
		return wanted{}, fmt.Errorf("reading standard input: %w", err)
	}
	if strings.TrimSpace(string(data)) == "" {
		return wanted{}, errors.New("no settings to write; give --set batch=8,accumulation=4, or pipe in snug optimize --json")
	}
	var o optimized
	if err := json.Unmarshal(data, &o); err != nil {
		return wanted{}, fmt.Errorf("standard input is not the output of snug optimize --json: %w", err)
	}
	if o.Error != "" {
		return wanted{}, fmt.Errorf("snug optimize failed: %s", o.Error)
	}
	settings, err := o.pick(rung)
	if err != nil {
		return wanted{}, err
	}
	w, err := fromSettings(settings.Changed(o.Current.Settings)) // unchanged values need not be written
	w.advised, w.given = true, o.Given
	return w, err
}

// pick returns the recommended settings, or those of a rung of the ladder.
func (o *optimized) pick(rung string) (setup.Values, error) {
	settings := o.Recommended.Settings
	if rung != "" {
		var names []string
		there := false
		settings = nil
		for _, step := range o.Ladder {
			names = append(names, step.Name)
			if step.Name == rung {
				settings, there = step.Settings, true
			}
		}
		switch {
		case there && settings == nil:
			return nil, fmt.Errorf("--rung %s: nothing fits at that rung; choose another", rung)
		case !there:
			return nil, fmt.Errorf("--rung %s: unknown rung; the ladder has %s", rung, strings.Join(names, ", "))
		}
	}
	if len(settings) == 0 && rung == "" && len(o.Current.Settings) > 0 {
		return nil, errors.New("snug optimize found no settings that fit; nothing to write")
	}
	if len(settings) == 0 {
		return nil, errors.New("standard input contains no settings; pipe in snug optimize --json")
	}
	return settings, nil
}

// fromSettings converts the fields of a setup to settings in files. Some fields do not belong in files.
func fromSettings(fields setup.Values) (wanted, error) {
	var w wanted
	known := map[string]systems.Setting{}
	for _, s := range systems.Settings() {
		known[s.Name] = s
	}
	for _, v := range fields {
		s, ok := known[v.Setting]
		if !ok {
			w.elsewhere = append(w.elsewhere, fmt.Sprintf("%s=%v", v.Setting, v.Value))
			continue
		}
		_, value, err := systems.ParseSetting(fmt.Sprintf("%s=%v", s.Name, v.Value))
		if err != nil {
			return w, fmt.Errorf("standard input: %w", err)
		}
		w.values = w.values.With(v.Setting, value)
	}
	return w, nil
}
