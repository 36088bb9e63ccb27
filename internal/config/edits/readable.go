// SPDX-License-Identifier: Apache-2.0

package edits

import (
	"fmt"
	"strings"
	"unicode"

	"snug/internal/config/systems"
)

// readable refuses a change while a file that may belong to it cannot be read:
// changing the others alone would leave the run half-way.
func (c *planner) readable() error {
	for _, b := range c.project.Unreadable {
		if what := c.mayHold(b.File); what != "" {
			return fmt.Errorf("%w; %s may also contain %s, so nothing is changed; fix it, or name the files to change with --config-path", b.Err, b.File, what)
		}
	}
	return nil
}

// mayHold returns which of the wanted settings a file may contain, judged by its words; "" if it has none
// of any system's keys for them.
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

// notInKey separates the words of a file that may be keys.
func notInKey(r rune) bool {
	return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}
