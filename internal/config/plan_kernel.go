// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"snug/internal/config/change"
	"snug/internal/config/doc"
	"strings"
)

// optimizer plans the edits of the optimizer: of its class where that is another,
// and of its kernel.
func (c *changing) optimizer(v string) error {
	key, at := c.kernelKey()
	class, kernel := parted(v)
	now, running := parted(fmt.Sprint(c.project.said("optimizer")))
	switch {
	case key == nil:
		return c.setting("optimizer", v)
	case kernel == "fused" && c.project.clipsUnfused():
		return fmt.Errorf("%s: Lightning refuses to clip gradients of a fused optimizer under autocast; leave the optimizer, or gradient_clip_val out", c.project.main.file)
	}
	if class != now {
		if err := c.setting("optimizer", class); err != nil {
			return err
		}
	}
	if kernel == running || kernel == "" && len(c.project.of("optimizer.kernel")) == 0 {
		return nil
	}
	return c.kernel(key, at, class, kernel)
}

// kernelKey is the key that picks the kernel, and where in the tree it belongs; nil
// where there is none, or an optimizer without kernels.
func (c *changing) kernelKey() (*Key, doc.Path) {
	k := c.project.optimizerKey()
	if k == nil || k.Beside == nil {
		return nil, nil
	}
	if of := c.project.of("optimizer"); len(of) > 0 {
		at := of[0].place.at
		if class, _ := of[0].Value.(string); class != "adamw" && class != "adam" || len(at) < 2 {
			return nil, nil
		}
		return k.Beside, besidePath(at, k.Beside)
	}
	return k.Beside, besidePath(strings.Split(k.Path, "."), k.Beside)
}

// kernel plans the edit of the kernel, or its key where there is none yet.
func (c *changing) kernel(key *Key, at doc.Path, class, kernel string) error {
	p := c.project
	if key.Kind == Switch && kernel == "loop" {
		return key.cannot(kernel)
	}
	if of := p.of("optimizer.kernel"); len(of) > 0 {
		if kernel == "" {
			return fmt.Errorf("%s: %s is for Adam and AdamW, and %s has none; take it out first", of[0].where(), of[0].Path, class)
		}
		return c.write(of[0], kernel)
	}
	file, err := key.write(kernel, doc.Value{}, 1)
	if err != nil {
		return err
	}
	l := p.main.tree.nearest(at)
	c.edits = append(c.edits, planned{change.Edit{File: l.file, Path: at[len(l.mount):], Value: file, Insert: true}, p.main})
	return nil
}
