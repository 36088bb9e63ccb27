// SPDX-License-Identifier: Apache-2.0

package edits

import (
	"errors"

	"snug/internal/config/change"
	"snug/internal/config/doc"
)

// allocatorVariable sets the allocator's options in every release of PyTorch; releases before 2.9 do not know its
// newer name.
const allocatorVariable = "PYTORCH_CUDA_ALLOC_CONF"

// allocator plans the edit of the allocator's options. They are in an environment variable, which only a script
// that starts the run can set.
func (c *planner) allocator(setting string, v any) error {
	if len(c.project.BindingsOf(setting)) > 0 {
		return c.setting(setting, v)
	}
	if v == "" {
		return nil
	}
	for _, s := range c.project.SourcesRead() {
		d := s.Tree.Layers[0].Doc
		if d.Format() != doc.Shell {
			continue
		}
		at := doc.Path{allocatorVariable}
		if _, err := d.Insert(at, v); err != nil {
			return err
		}
		c.edits = append(c.edits, plannedEdit{change.Edit{File: s.File, Path: at, Value: v, Insert: true}, s})
		return nil
	}
	return errors.New("no file here starts the run, so the allocator's options cannot be written; set " + allocatorVariable + " where it is started")
}
