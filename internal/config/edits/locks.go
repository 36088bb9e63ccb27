// SPDX-License-Identifier: Apache-2.0

package edits

import "fmt"

// unlocked returns an error for a change that would keep the run from starting or that the run would ignore.
func (c *planner) unlocked() error {
	for _, l := range c.project.Locks() {
		v := c.want.Get(l.Setting)
		if n, _ := v.(int); n > 1 || v == false {
			return fmt.Errorf("%s: %s cannot be %v", l.Why, l.Setting, v)
		}
	}
	return nil
}
