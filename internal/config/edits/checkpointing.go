// SPDX-License-Identifier: Apache-2.0

package edits

import "snug/internal/config/meaning"

// checkpointing plans the edits that turn gradient checkpointing on or off. It turns on only one of the two
// switches, preferably the trainer's, but turns off both.
func (c *planner) checkpointing(_ string, v any) error {
	const name = "checkpointing"
	sharded, own := c.project.CheckpointingKeys()
	switch {
	case len(sharded) == 0:
		return c.among(own, name, v)
	case v == true && !meaning.AnyOn(sharded):
		planned, noted := len(c.edits), len(c.notes)
		err := c.among(own, name, true)
		if err == nil {
			return nil
		}
		c.edits, c.notes = c.edits[:planned], c.notes[:noted]
		return c.among(sharded, name, true)
	case v == true && !c.project.TrainerCheckpoints():
		return nil
	}
	if err := c.among(sharded, name, false); err != nil || v == true || !c.project.TrainerCheckpoints() {
		return err
	}
	return c.among(own, name, false)
}
