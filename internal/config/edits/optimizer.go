// SPDX-License-Identifier: Apache-2.0

package edits

import (
	"fmt"
	"strings"

	"snug/internal/config/change"
	"snug/internal/config/doc"
	"snug/internal/config/meaning"
	"snug/internal/config/projects"
	"snug/internal/config/systems"
)

// optimizer plans the edits of the optimizer: its class if that changes, and its kernel.
func (c *planner) optimizer(v string) error {
	key, at := c.kernelKey()
	class, kernel := meaning.SplitOptimizer(v)
	now, running := meaning.SplitOptimizer(fmt.Sprint(c.project.ValueOrDefault("optimizer")))
	switch {
	case key == nil:
		return c.setting("optimizer", v)
	case kernel == "fused" && c.project.ClipsUnfused():
		return fmt.Errorf("%s: Lightning refuses to clip gradients of a fused optimizer under autocast; keep the optimizer, or remove gradient_clip_val", c.project.Primary.File)
	}
	if class != now {
		if err := c.setting("optimizer", class); err != nil {
			return err
		}
	}
	if kernel == running || kernel == "" && len(c.project.BindingsOf("optimizer.kernel")) == 0 {
		return nil
	}
	return c.kernel(key, at, class, kernel)
}

// kernelKey returns the key that selects the kernel, and its path in the tree; nil if there is none, or
// if the optimizer has no kernels.
func (c *planner) kernelKey() (*systems.Key, doc.Path) {
	k := c.project.OptimizerKey()
	if k == nil || k.Beside == nil {
		return nil, nil
	}
	if of := c.project.BindingsOf("optimizer"); len(of) > 0 {
		at := of[0].Place.At
		if class, _ := of[0].Value.(string); class != "adamw" && class != "adam" || len(at) < 2 {
			return nil, nil
		}
		return k.Beside, projects.PathBeside(at, k.Beside)
	}
	return k.Beside, projects.PathBeside(strings.Split(k.Path, "."), k.Beside)
}

// kernel plans the edit of the kernel's key, or inserts it.
func (c *planner) kernel(key *systems.Key, at doc.Path, class, kernel string) error {
	p := c.project
	if key.Kind == systems.Switch && kernel == "loop" {
		return key.Cannot(kernel)
	}
	if of := p.BindingsOf("optimizer.kernel"); len(of) > 0 {
		if kernel == "" {
			return fmt.Errorf("%s: %s is for Adam and AdamW only, not for %s; remove it first", of[0].Where(), of[0].Path, class)
		}
		return c.write(of[0], kernel)
	}
	file, err := key.Write(kernel, doc.Value{}, 1)
	if err != nil {
		return err
	}
	l := p.Primary.Tree.Nearest(at)
	c.edits = append(c.edits, plannedEdit{change.Edit{File: l.File, Path: at[len(l.Mount):], Value: file, Insert: true}, p.Primary})
	return nil
}
