// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"snug/internal/files"
)

// keepRecording copies a run's snapshot to the user's folder as soon as it exists, so that it survives if a later run
// fails.
func (s *Session) keepRecording(r *Result, t *Trial) error {
	if s.plan.Keep == "" || t.Report.Snapshot == nil {
		return nil
	}
	if err := s.env.Files.MkdirAll(s.plan.Keep, 0o755); err != nil {
		return fmt.Errorf("--keep %s: %w", s.plan.Keep, cause(err))
	}
	name := strings.ReplaceAll(t.At.String(), ",", "_")
	if name == "" {
		name = "recording"
	}
	to := filepath.Join(s.plan.Keep, name+".pickle")
	if err := s.copyFile(t.Report.Snapshot.File, to); err != nil {
		return fmt.Errorf("--keep %s: %w", to, cause(err))
	}
	if !slices.Contains(r.Kept, to) { // a run that is recorded again replaces its file
		r.Kept = append(r.Kept, to)
	}
	s.say("kept as %s", to)
	return nil
}

// copyFile copies a file atomically.
func (s *Session) copyFile(from, to string) error {
	in, err := s.env.Files.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return s.work.Put(to, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
}

// withKept returns the error that ends a plan, extended with the names of the files that were kept.
func withKept(err error, kept []string) error {
	if len(kept) == 0 {
		return err
	}
	is := "is"
	if len(kept) > 1 {
		is = "are"
	}
	return reworded(err, fmt.Sprintf("%v; %s %s kept", err, strings.Join(kept, ", "), is))
}

// writeProfile writes the program to the plan's output file.
func (s *Session) writeProfile(r *Result) error {
	out := s.plan.Out
	info, err := s.env.Files.Stat(out)
	switch {
	case err == nil && info.IsDir():
		err = files.ErrFolder
	case err == nil && !info.Mode().IsRegular():
		err = errNotRegular
	default:
		err = s.work.Put(out, r.Program.Write)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", out, cause(err))
	}
	r.Profile = out
	return nil
}
