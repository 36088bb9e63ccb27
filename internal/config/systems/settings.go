// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"snug/internal/setup"
	"snug/internal/spelling"
)

// Setting is a property of a run that files can set.
type Setting struct {
	// Name is the setup's field; workers and effective exist only in files.
	Name  string
	Kind  Kind     // how files write the value
	Words []string // possible values, for Kind Word
	What  string   // a short description
	Least int      // the minimum of a whole number
}

// Settings returns all settings: those of the setup's table, then those that only files have.
func Settings() []Setting { return slices.Clone(allSettings()) }

var allSettings = sync.OnceValue(func() []Setting {
	out := []Setting{{Name: "model", Kind: Name, What: "the model to train"}}
	for _, x := range setup.Settings() {
		if x.Has(setup.InFiles) {
			out = append(out, Setting{x.Name, kindOf[x.Kind()], x.Words, x.Plain(), int(x.Least)})
		}
		if x.Name == "negatives" { // the last of the data loader's settings
			out = append(out, Setting{Name: "workers", Kind: Whole, What: "processes that load data, per GPU"})
		}
	}
	return append(out, Setting{Name: "effective", Kind: Whole, What: "samples per optimizer step, over all GPUs", Least: 1})
})

// kindOf maps the kinds of a setup's settings to how files write them.
var kindOf = map[setup.Kind]Kind{
	setup.Whole: Whole, setup.Number: Number, setup.Switch: Switch, setup.Word: Word, setup.Text: Name, setup.Names: Names,
}

// SettingOrder returns the position of each setting in the list.
var SettingOrder = sync.OnceValue(func() map[string]int {
	order := map[string]int{}
	for i, s := range allSettings() {
		order[s.Name] = i
	}
	return order
})

// IsSetting reports whether name is a field of a setup; some settings exist only in config files.
func IsSetting(name string) bool {
	_, ok := SettingOrder()[name]
	return ok
}

// SettingNames returns the names of all settings.
func SettingNames() []string { return slices.Clone(settingNames()) }

var settingNames = sync.OnceValue(func() []string {
	var out []string
	for _, s := range allSettings() {
		out = append(out, s.Name)
	}
	return out
})

// SettingNamed returns the setting with a name.
func SettingNamed(name string) (Setting, error) {
	if i, ok := SettingOrder()[name]; ok {
		return allSettings()[i], nil
	}
	names := SettingNames()
	return Setting{}, fmt.Errorf("setting %q is not known%s", name,
		spelling.Hint(name, names, "known: "+strings.Join(names, ", ")))
}

// ParseSetting parses text such as "batch=8" and returns the setting's name and its value in a setup.
func ParseSetting(text string) (name string, value any, err error) {
	name, raw, ok := strings.Cut(text, "=")
	name, raw = strings.TrimSpace(name), strings.TrimSpace(raw)
	if !ok || raw == "" {
		return "", nil, fmt.Errorf("%q must have the form setting=value, such as batch=8", text)
	}
	s, err := SettingNamed(name)
	if err != nil {
		return "", nil, err
	}
	value, err = s.parse(raw)
	return name, value, err
}

func (s Setting) parse(raw string) (any, error) {
	switch s.Kind {
	case Whole:
		n, err := strconv.Atoi(raw)
		if err != nil {
			return nil, fmt.Errorf("%s is %q; it must be a whole number", s.Name, raw)
		}
		return n, s.Check(n)
	case Number:
		f, err := strconv.ParseFloat(raw, 64)
		if err != nil {
			return nil, fmt.Errorf("%s is %q; it must be a number", s.Name, raw)
		}
		return f, s.Check(f)
	case Switch:
		switch strings.ToLower(raw) {
		case "true", "on", "yes":
			return true, nil
		case "false", "off", "no":
			return false, nil
		}
		return nil, fmt.Errorf("%s is %q; it must be true or false", s.Name, raw)
	case Names:
		return strings.Split(raw, ","), nil
	}
	return raw, s.Check(raw)
}

// Check returns an error if the value is wrong for this setting.
func (s Setting) Check(value any) error {
	switch v := value.(type) {
	case int:
		if v < s.Least || v > 1<<30 {
			return fmt.Errorf("%s is %d; it must be a whole number, at least %d", s.Name, v, s.Least)
		}
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			return fmt.Errorf("%s is %v; it must be a number, at least 0", s.Name, v)
		}
	case string:
		if s.Kind == Word && !slices.Contains(s.Words, v) {
			return fmt.Errorf("%s %q is not known%s", s.Name, v,
				spelling.Hint(v, s.Words, "known: "+strings.Join(s.Words, ", ")))
		}
	}
	return nil
}
