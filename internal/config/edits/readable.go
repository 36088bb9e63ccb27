// SPDX-License-Identifier: Apache-2.0

package edits

import (
	"fmt"
	"strings"
	"unicode"

	"snug/internal/config/systems"
)

// readable returns an error if a file that may contain one of the settings cannot be read: changing only the
// other files would make the run inconsistent.
func (c *planner) readable() error {
	if d := c.project.Documented; d != nil {
		return fmt.Errorf("%s:%d: the settings are in documentation, which snug does not edit; put the command into a shell script and pass --config-path run.sh", d.File, d.Line)
	}
	for _, b := range c.project.Unreadable {
		if what := c.mayHold(b.File); what != "" {
			return fmt.Errorf("%w; %s may also contain %s, so nothing is changed; fix it, or name the files to change with --config-path", b.Err, b.File, what)
		}
	}
	return nil
}

// mayHold returns a wanted setting that a file may contain, judged by its words; "" if none of its words is a key
// for such a setting.
func (c *planner) mayHold(file string) string {
	text, err := c.project.Files().ReadFile(file)
	if err != nil {
		return "these settings"
	}
	words := map[string]bool{}
	for word := range strings.FieldsFuncSeq(string(text), notInKey) {
		words[word] = true
	}
	for _, setting := range c.want.Names() {
		for _, a := range systems.All() {
			for _, k := range a.ForSetting(setting) {
				if words[k.Path[strings.LastIndex(k.Path, ".")+1:]] {
					return setting
				}
			}
		}
	}
	return ""
}

// notInKey reports whether a character separates words that may be keys.
func notInKey(r rune) bool {
	return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}
