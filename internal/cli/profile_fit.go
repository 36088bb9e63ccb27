// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"snug/internal/profile"
	"snug/internal/run"
)

// fit makes the profile of the recordings and writes it.
func (p *profiling) fit() error {
	if len(p.runs) < 2 {
		return nil
	}
	program, err := p.fitted()
	if err != nil {
		return err
	}
	for _, d := range program.Doubts {
		p.say("note: %s", d)
	}
	program.Facts = p.facts()
	for name, n := range p.steady() {
		program.Fixed[name] = n
	}
	p.program = program
	return p.writeProfile()
}

// fitted makes the program of the recordings, unless a signal comes first: of
// long ones that takes a while.
func (p *profiling) fitted() (*profile.Program, error) {
	type result struct {
		program *profile.Program
		err     error
	}
	done := make(chan result, 1)
	go func() {
		inputs, err := p.recordings()
		if err != nil {
			done <- result{nil, err}
			return
		}
		program, err := profile.Fit(inputs)
		done <- result{program, err}
	}()
	for {
		select {
		case by := <-p.signals:
			if run.Paused(by, p.signals) {
				continue
			}
			return nil, interrupted(by)
		case r := <-done:
			return r.program, r.err
		}
	}
}

// recordings reads what the runs have left.
func (p *profiling) recordings() ([]profile.Input, error) {
	var out []profile.Input
	for _, r := range p.runs {
		rec, err := readSnapshot(p.env, r.rank.Snapshot.File)
		if err != nil {
			return nil, fmt.Errorf("the recording at %s: %w", r.at, err)
		}
		out = append(out, profile.Input{Name: "the recording at " + r.at.String(), At: r.at, Card: p.card(), Recording: rec})
	}
	return out, nil
}

// card is what was recorded on.
func (p *profiling) card() string {
	if g := p.runs[0].rank.GPU; g != nil {
		return g.Name
	}
	return ""
}

func (p *profiling) writeProfile() error {
	out := p.options.out
	err := p.env.writeWith(out, func() error { return p.work.Put(out, p.program.Write) })
	if err == nil {
		p.written = out
	}
	return err
}
