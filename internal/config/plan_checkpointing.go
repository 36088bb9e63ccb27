// SPDX-License-Identifier: Apache-2.0

package config

// checkpointing plans the edits that turn it on with one of the switches, the
// trainer's where it has one, or off with both.
func (c *changing) checkpointing(_ string, v any) error {
	const name = "checkpointing"
	sharded, own := c.project.switches()
	switch {
	case len(sharded) == 0:
		return c.among(own, name, v)
	case v == true && !isOn(sharded):
		planned, noted := len(c.edits), len(c.notes)
		err := c.among(own, name, true)
		if err == nil {
			return nil
		}
		c.edits, c.notes = c.edits[:planned], c.notes[:noted]
		return c.among(sharded, name, true)
	case v == true && !c.project.ownOn():
		return nil
	}
	if err := c.among(sharded, name, false); err != nil || v == true || !c.project.ownOn() {
		return err
	}
	return c.among(own, name, false)
}
