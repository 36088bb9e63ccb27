// SPDX-License-Identifier: Apache-2.0

package edits

import (
	"fmt"

	"snug/internal/config/projects"
	"snug/internal/config/systems"
)

// oneMeaning returns an error for a number with more than one meaning: writing it for one setting would silently
// change another.
func (c *planner) oneMeaning(b projects.Bound, file any) error {
	if b.Key.Kind != systems.Whole {
		return nil
	}
	if by := b.DividedBy(); by != "" {
		return fmt.Errorf("%s: the program divides %s by %s, so it is not the batch of one forward pass; make the quotient %v yourself", b.Where(), b.Path, by, file)
	}
	for _, o := range c.project.Bound {
		if o.Setting != b.Setting && o.Setting != "eval.batch" && o.Key.Kind == systems.Whole &&
			o.File == b.File && o.Place.Value.Start == b.Place.Value.Start {
			return fmt.Errorf("%s: %s sets both %s and %s, and snug would change both; write %v for %s yourself", b.Where(), b.Place.Path, inWords(b.Setting), inWords(o.Setting), file, c.nameOf(b))
		}
	}
	return nil
}

// inWords returns a setting as a message names it.
func inWords(setting string) string {
	if setting == "effective" {
		return "the effective batch"
	}
	return setting
}

// nameOf returns what the user must set instead: the key if it takes its value from elsewhere, otherwise the setting.
func (c *planner) nameOf(b projects.Bound) string {
	if len(b.Place.Through) > 0 {
		return b.Place.At.String()
	}
	return b.Setting
}
