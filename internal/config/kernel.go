// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"slices"
	"strings"

	"snug/internal/config/change"
	"snug/internal/config/doc"
	"snug/internal/shadow/train"
)

// PyTorch's Adam and AdamW have three kernels each, which differ in what they
// take: a setup says adamw-fused, and a file often the class under one key and the
// kernel under another beside it.

// withKernel is an optimizer's class with the kernel that the file picks for it.
func (p *Project) withKernel(class any) any {
	name, _ := class.(string)
	if full := name + "-" + p.kernel(); slices.Contains(train.OptimizerNames(), full) {
		return full
	}
	return class
}

// kernel is what the key beside the optimizer says, or else its default; "" where
// there is no such key.
func (p *Project) kernel() string {
	if of := p.of("optimizer.kernel"); len(of) > 0 {
		name, _ := of[0].Value.(string)
		return name
	}
	k := p.optimizerKey()
	if k == nil || k.Beside == nil {
		return ""
	}
	name, _ := k.Beside.byDefault(1).(string)
	return name
}

// optimizerKey is the key that the optimizer stands under, or would; nil where
// nobody knows.
func (p *Project) optimizerKey() *Key {
	if of := p.of("optimizer"); len(of) > 0 {
		return of[0].key
	}
	if p.main == nil || p.system() != p.main.adapter {
		return nil
	}
	for _, k := range p.main.adapter.forSetting("optimizer") {
		if k.Default != "" {
			return k
		}
	}
	return nil
}

// parted is an optimizer as a class and a kernel; "" is for those that have no
// choice of kernels.
func parted(optimizer string) (class, kernel string) {
	class, kernel, _ = strings.Cut(optimizer, "-")
	switch {
	case class != "adam" && class != "adamw" || kernel != "" && kernel != "fused" && kernel != "loop":
		return optimizer, ""
	case kernel == "":
		return class, "foreach"
	}
	return class, kernel
}

// beside binds the key that stands, or would stand, beside another.
func (s *source) beside(k *Key, p doc.Path) ([]bound, error) {
	if k.Beside == nil || len(p) < 2 {
		return nil, nil
	}
	b, err := s.bound(k.Beside, besidePath(p, k.Beside))
	if b == nil || err != nil {
		return nil, err
	}
	return []bound{*b}, nil
}

// besidePath is where the kernel of an optimizer stands.
func besidePath(p doc.Path, kernel *Key) doc.Path {
	return p[:len(p)-1].Join(strings.Split(kernel.Path, ".")...)
}

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

// clipsUnfused tells whether Lightning clips gradients, which it refuses to do of
// a fused optimizer under autocast (lightning 2.6, plugins/precision/amp.py).
func (p *Project) clipsUnfused() bool {
	return slices.ContainsFunc(p.of("clip"), func(b bound) bool {
		return b.Value == true && strings.HasSuffix(b.key.Path, "trainer.gradient_clip_val")
	})
}
