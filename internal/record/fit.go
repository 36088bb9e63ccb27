// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"

	"snug/internal/profile"
	"snug/internal/snapshot"
)

// fit makes a profile from two or more recordings and writes it.
func (s *Session) fit(r *Result) error {
	if len(r.Trials) < 2 {
		return nil
	}
	program, err := s.program(r.Trials)
	if err != nil {
		return err
	}
	for _, d := range program.Warnings {
		s.say("note: %s", d)
	}
	program.Facts = facts(r.Trials)
	for name, n := range s.fixedSizes(r.Trials) {
		program.Fixed[name] = n
	}
	r.Program = program
	return s.writeProfile(r)
}

// program fits the recordings, unless a signal arrives first: fitting long ones takes a while.
func (s *Session) program(trials []*Trial) (*profile.Program, error) {
	var program *profile.Program
	var err error
	interrupted := s.unlessInterrupted(func() {
		var inputs []profile.Input
		if inputs, err = s.recordings(trials); err == nil {
			program, err = profile.Fit(inputs)
		}
	})
	if interrupted != nil {
		return nil, interrupted
	}
	return program, err
}

// recordings reads the runs' recordings.
func (s *Session) recordings(trials []*Trial) ([]profile.Input, error) {
	var out []profile.Input
	for _, t := range trials {
		name := "the recording at " + t.At.String()
		rec, err := s.readSnapshot(t.Report.Snapshot.File)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, profile.Input{Name: name, At: t.At, Card: t.driverName(), Recording: rec})
	}
	return out, nil
}

func (s *Session) readSnapshot(path string) (*snapshot.Recording, error) {
	f, err := s.env.Files.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, cause(err))
	}
	defer f.Close()
	rec, err := snapshot.Read(f)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, cause(err))
	}
	return rec, nil
}
