// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"slices"
	"strings"

	"snug/internal/pattern"
)

// addOption adds an option for the script, after its other arguments but before its own --.
func (c *command) addOption(script, name, option string, value any) error {
	names := c.aliases(script, option)
	for i, w := range c.args {
		if flag, given, glued := strings.Cut(w, "="); slices.Contains(names, flag) {
			if !glued && i+1 < len(c.args) {
				given = c.args[i+1]
			}
			return alreadyGiven(name, flag, given)
		}
	}
	c.args = c.withOption(c.args, script, option, value)
	c.shown = c.withOption(c.shown, script, option, value)
	c.placements = append(c.placements, fmt.Sprintf("%s: %s of %s", name, option, script))
	return nil
}

func (c *command) withOption(words []string, script, option string, value any) []string {
	at := len(words)
	begin := slices.IndexFunc(words, func(w string) bool { return c.files.local(w) == script })
	if i := slices.Index(words[begin+1:], "--"); begin >= 0 && i >= 0 {
		at = begin + 1 + i
	}
	return slices.Insert(words, at, option, fmt.Sprint(value))
}

// addOverride adds a Hydra override for a value in a file.
func (c *command) addOverride(name, override, file string) {
	c.args, c.shown = append(c.args, override), append(c.shown, override)
	key, _, _ := strings.Cut(override, "=")
	c.placements = append(c.placements, fmt.Sprintf("%s: %s of %s, overridden in the command", name, strings.TrimLeft(key, "+"), file))
}

// optionNames matches the names that a script gives an argparse option.
var optionNames = pattern.New(`add_argument\(\s*((?:["'][^"'\n]+["']\s*,\s*)+)`)

// aliases returns all names of an option, as in add_argument("-b", "--batch-size").
func (c *command) aliases(script, option string) []string {
	text, err := c.files.ReadFile(script)
	if err != nil {
		return []string{option}
	}
	for _, m := range optionNames.Regexp().FindAllSubmatch(text, -1) {
		names := strings.FieldsFunc(string(m[1]), func(r rune) bool { return strings.ContainsRune("\"', \t\r\n", r) })
		if slices.Contains(names, option) {
			return names
		}
	}
	return []string{option}
}
