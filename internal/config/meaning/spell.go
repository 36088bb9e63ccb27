// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/systems"
)

// Spell returns how the project's main file would write a setting, as in dtype: float32; "" if its system
// has no key for it. It is for messages: a snug flag applies once, a key in the file every time.
func (r *Run) Spell(setting string, value any) string {
	return r.spell(setting, value, func(string) bool { return true })
}

// Suggest is like Spell, but returns "" for a flag that the run's program does not take.
func (r *Run) Suggest(setting string, value any) string { return r.spell(setting, value, r.accepts) }

func (r *Run) spell(setting string, value any, accepts func(key string) bool) string {
	system := r.Trainer()
	if r.Primary == nil || system.OwnProgram {
		return ""
	}
	format := r.Primary.Tree.Layers[0].Doc.Format()
	for _, b := range r.BindingsOf(setting) { // prefer a key that is present to its other names
		if file, ok := b.Key.Spell(value); ok && b.Source == r.Primary {
			return assignment(format, b.Path.String(), file)
		}
	}
	for _, k := range system.ForSetting(setting) {
		if file, ok := k.Spell(value); ok && k.Path != "" && accepts(strings.TrimPrefix(k.Path, "**.")) {
			return assignment(format, strings.TrimPrefix(k.Path, "**."), file)
		}
	}
	return ""
}

// accepts reports whether the main file may have a key. A program that a shell script starts and that declares its flags
// one by one, without a trainer's parser, accepts no others.
func (r *Run) accepts(key string) bool {
	if r.Primary.Tree.Layers[0].Doc.Format() != doc.Shell {
		return true
	}
	name, _ := r.Primary.Program(r.Files())
	data, err := r.Files().ReadFile(name)
	if text := string(data); err == nil && strings.Contains(text, "add_argument(") && systems.OfParser(text) == nil {
		return strings.Contains(text, `"--`+key+`"`) || strings.Contains(text, "'--"+key+"'")
	}
	return true
}

// assignment returns a key and its value as written in that format.
func assignment(format doc.Format, key string, value any) string {
	switch {
	case format == doc.Shell && value == true:
		return "--" + strings.TrimLeft(key, "-")
	case format == doc.Shell:
		return fmt.Sprintf("--%s %v", strings.TrimLeft(key, "-"), value)
	case format == doc.JSON:
		if text, ok := value.(string); ok {
			value = fmt.Sprintf("%q", text)
		}
		return fmt.Sprintf("%q: %v", key, value)
	case format == doc.Python:
		if text, ok := value.(string); ok {
			return fmt.Sprintf("%s=%q", key, text)
		}
		return key + "=" + strings.ToUpper(fmt.Sprint(value)[:1]) + fmt.Sprint(value)[1:]
	case format == doc.YAML:
		return fmt.Sprintf("%s: %v", key, value)
	}
	return fmt.Sprintf("%s = %v", key, value)
}
