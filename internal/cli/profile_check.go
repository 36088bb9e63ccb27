// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"snug/internal/files"
	"snug/internal/profile"
)

// A run takes minutes of a GPU: whatever can be refused is refused before it.

// check reads the sizes and refuses what cannot be done.
func (o *profileOptions) check(args []string) ([]profile.Point, error) {
	switch {
	case len(args) == 0:
		return nil, errors.New("profile needs your training command: snug profile -- python train.py")
	case args[0] == "":
		return nil, errors.New("the training command is empty: write snug profile -- python train.py")
	case o.steps < 1:
		return nil, fmt.Errorf("--steps %d: write at least 1", o.steps)
	case o.timeout < 0:
		return nil, fmt.Errorf("--timeout %v: write a time like 10m, or 0 for any", o.timeout)
	}
	if dir := filepath.Dir(o.out); len(o.vary) > 0 {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("--out %s: the folder %s does not exist", o.out, dir)
		}
	}
	sizes, err := readSizes(o.vary)
	if err == nil {
		err = ownNames(o.vary)
	}
	if err == nil && !o.oneSize {
		err = twoSizes(o.vary, sizes)
	}
	if err == nil {
		err = checkHoles(args, o.vary, sizes[0])
	}
	return sizes, err
}

// checkLaunch refuses a command that snug would see nothing of, before it trains
// for nothing or stands in a queue.
func (p *profiling) checkLaunch() error {
	if p.launch.Lost {
		return errors.New(p.launch.Warning)
	}
	return nil
}

// checkPlaces refuses, before anything runs, files that could not be read or
// written after it.
func (p *profiling) checkPlaces() error {
	o := p.options
	if len(o.vary) > 0 && p.env.isFolder(o.out) {
		return fmt.Errorf("--out %s: %w", o.out, files.ErrFolder)
	}
	if err := p.env.mayKeepProfile("--out", o.out); err != nil && len(o.vary) > 0 {
		return err
	}
	if err := p.mayWriteIn(filepath.Dir(o.out)); err != nil && len(o.vary) > 0 {
		return fmt.Errorf("--out %s: %w", o.out, reason(err))
	}
	if o.keep != "" {
		if info, err := os.Stat(o.keep); err == nil && !info.IsDir() {
			return fmt.Errorf("--keep %s: it is a file; name a folder", o.keep)
		}
		if err := p.mayWriteIn(o.keep); err != nil {
			return fmt.Errorf("--keep %s: %w", o.keep, reason(err))
		}
	}
	if o.setup == "" {
		return nil
	}
	return p.readSetup()
}
