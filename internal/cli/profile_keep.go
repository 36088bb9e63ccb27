// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"snug/internal/files"
)

// keepRecording copies a run's snapshot where the user wants it, as soon as it
// is there: what later runs come to is not its fault.
func (p *profiling) keepRecording(r *measuredRun) error {
	if p.options.keep == "" || r.rank.Snapshot == nil {
		return nil
	}
	if err := os.MkdirAll(p.options.keep, 0o755); err != nil {
		return fmt.Errorf("--keep %s: %w", p.options.keep, reason(err))
	}
	name := strings.ReplaceAll(r.at.String(), ",", "_")
	if name == "" {
		name = "recording"
	}
	to := filepath.Join(p.options.keep, name+".pickle")
	if err := p.copyFile(r.rank.Snapshot.File, to); err != nil {
		return fmt.Errorf("--keep %s: %w", to, reason(err))
	}
	if !slices.Contains(p.kept, to) { // a run that is recorded again takes its place
		p.kept = append(p.kept, to)
	}
	p.say("kept as %s", to)
	return nil
}

// withKept says in the error that ends it all what there is nevertheless.
func (p *profiling) withKept(err error) error {
	if len(p.kept) == 0 {
		return err
	}
	is := "is"
	if len(p.kept) > 1 {
		is = "are"
	}
	return reworded(err, fmt.Sprintf("%v; %s %s kept", err, strings.Join(p.kept, ", "), is))
}

// mayWriteIn tries whether files can be made in a folder, or in the nearest above
// it where it is yet to be made. To learn that after the runs would be late.
func (p *profiling) mayWriteIn(folder string) error {
	for folder != filepath.Dir(folder) {
		if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
			break
		}
		folder = filepath.Dir(folder)
	}
	return p.work.MayWriteIn(folder)
}

// copyFile copies a file, whole or not at all.
func (p *profiling) copyFile(from, to string) error {
	in, err := files.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return p.work.Put(to, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
}
