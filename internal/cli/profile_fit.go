// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"snug/internal/profile"
)

// fit makes the profile of the recordings and writes it.
func (p *profiling) fit() error {
	if len(p.runs) < 2 {
		return nil
	}
	var inputs []profile.Input
	for _, r := range p.runs {
		rec, err := readSnapshot(p.env, r.rank.Snapshot.File)
		if err != nil {
			return fmt.Errorf("the recording at %s: %w", r.at, err)
		}
		inputs = append(inputs, profile.Input{Name: "the recording at " + r.at.String(), At: r.at, Recording: rec})
	}
	program, err := profile.Fit(inputs)
	if err != nil {
		return err
	}
	p.program = program
	return p.writeProfile()
}

// writer is what a program is that can be written down.
type writer interface{ Write(io.Writer) error }

func (p *profiling) writeProfile() error {
	w, ok := any(p.program).(writer)
	if !ok {
		p.note("this snug cannot write %s yet; --keep FOLDER keeps the recordings for snug predict", p.options.out)
		return nil
	}
	var b bytes.Buffer
	if err := w.Write(&b); err != nil {
		return fmt.Errorf("writing %s: %w", p.options.out, err)
	}
	if err := writeWhole(p.options.out, b.Bytes()); err != nil {
		return fmt.Errorf("writing %s: %w", p.options.out, reason(err))
	}
	p.written = p.options.out
	return nil
}

// writeWhole writes a file in one piece: it is the old one or the new one.
func writeWhole(name string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".snug-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
