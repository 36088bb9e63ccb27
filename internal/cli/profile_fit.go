// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"

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
	for _, d := range program.Doubts {
		p.say("note: %s", d)
	}
	program.Card, program.Facts = p.card(), p.facts()
	for name, n := range p.steady() {
		program.Fixed[name] = n
	}
	p.program = program
	return p.writeProfile()
}

// card is what was recorded on.
func (p *profiling) card() string {
	if g := p.runs[0].rank.GPU; g != nil {
		return g.Name
	}
	return ""
}

func (p *profiling) writeProfile() error {
	var b bytes.Buffer
	if err := p.program.Write(&b); err != nil {
		return fmt.Errorf("writing %s: %w", p.options.out, err)
	}
	if err := p.env.write(p.options.out, b.Bytes()); err != nil {
		return err
	}
	p.written = p.options.out
	return nil
}
