// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"

	"snug/internal/setup"
	"snug/internal/units"
)

// Residuals is how far estimates have been off in the measured cases, by the
// groups that a setup falls under. `make accuracy` writes the table.
type Residuals struct {
	Groups map[string]Range `json:"groups"`
}

// Range is between what and what the truth lay, as a share of the estimate less
// one.
type Range struct {
	Cases int     `json:"cases"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

//go:embed residuals.json
var residualsJSON string

// residuals is the table when it is first asked for.
var residuals = sync.OnceValue(func() Residuals { return readResiduals(residualsJSON) })

// readResiduals reads the table as it is written: one group after the other, a line
// for each of its numbers. Every estimate waits for it, and JSON in general takes
// five times as long.
func readResiduals(text string) Residuals {
	t := Residuals{Groups: map[string]Range{}}
	name, r := "", Range{}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.Trim(line, " ,\n"), ": ")
		switch key = strings.Trim(key, `"`); {
		case value == "{":
			name, r = key, Range{}
		case key == "cases":
			r.Cases, _ = strconv.Atoi(value)
		case key == "low":
			r.Low, _ = strconv.ParseFloat(value, 64)
		case key == "high":
			r.High, _ = strconv.ParseFloat(value, 64)
			t.Groups[name] = r
		}
	}
	return t
}

// segment is what an estimate is off by if it is off at all: PyTorch takes
// memory from the driver in pieces of at least this size.
const segment = 20 * units.MiB

// Options is what of a setup changes what is allocated, in words.
func Options(s *setup.Setup) []string { return setup.Evidence(s) }

// Groups is every group that a setup counts under: all, its family, each option,
// and each option with that family. What is off in a run over several GPUs says
// nothing about one, so that those count for their kind alone.
func Groups(s *setup.Setup) []string {
	family := s.Model.Family()
	if s.Dist != nil {
		return []string{"dist " + s.Dist.Kind}
	}
	out := []string{"", family}
	for _, o := range Options(s) {
		out = append(out, o, family+", "+o)
	}
	return out
}

// interval is where the true peak of reserved bytes is to be expected.
func (a *Answer) interval() ([2]uint64, error) {
	if Profile(a.Setup) != nil {
		m, err := margin(a.Setup, a.Card, a.PeakReserved)
		a.Causes = m.Causes
		return [2]uint64{a.PeakReserved - min(m.Less, a.PeakReserved), a.PeakReserved + m.More}, err
	}
	r := residuals().around(a.Setup)
	least, most, err := a.leftOut()
	low, high := float64(least), float64(most)
	return [2]uint64{uint64(max(low-max(-r.Low*low, segment), 0)), uint64(high + max(r.High*high, segment))}, err
}

// leftOut is the least and the most that the run reserves, whichever of its first
// updates it leaves out. In float16 the scale of the gradients begins so high that
// they often overflow; the update is left out then, and the scale halved. How often
// depends on numbers that nobody has before the run. Until the first update there
// are no optimizer states, and where they come later they find other holes.
func (a *Answer) leftOut() (least, most uint64, err error) {
	least, most = a.PeakReserved, a.PeakReserved
	if a.Setup.Precision != "amp-fp16" || a.Setup.LeftOut > 0 {
		return least, most, nil
	}
	for _, n := range []int{1, a.Setup.Steps} {
		s := *a.Setup
		s.LeftOut, s.Limit = n, a.shownLimit()
		b, err := try(&s, a.shown())
		if err != nil {
			return least, most, err
		}
		if b.OOM == nil {
			least, most = min(least, b.PeakReserved), max(most, b.PeakReserved)
		}
	}
	return least, most, nil
}

// Calibrate narrows or widens the interval to where such estimates have been on
// the machine at hand: measurements of this card and these versions say more
// than those of the reference.
func (a *Answer) Calibrate(here Range) {
	peak := float64(a.PeakReserved)
	low, high := peak*(1+here.Low)-segment, peak*(1+here.High)+segment
	a.Interval = [2]uint64{uint64(max(low, 0)), uint64(high)}
	a.Here, a.measured, a.Causes = here.Cases, &here, nil
}

// around is as far off as the family's measured cases have been. An option that
// was never measured with this family widens it to where that option has been
// with others, and what was never measured at all to where anything has been.
func (t Residuals) around(s *setup.Setup) Range {
	family := s.Model.Family()
	out := t.find(family)
	for _, o := range Options(s) {
		if _, measured := t.Groups[family+", "+o]; !measured {
			g := t.find(o)
			out.Low, out.High = min(out.Low, g.Low), max(out.High, g.High)
		}
	}
	return out
}

func (t Residuals) find(group string) Range {
	if g, ok := t.Groups[group]; ok {
		return g
	}
	return t.Groups[""]
}

// High is how much more than an estimate a run of this kind may reserve, given
// how far off estimates have been: here, where it was measured, else elsewhere.
func High(s *setup.Setup, peak uint64, here *Range) uint64 {
	r := Usual(s)
	if here != nil {
		r = *here
	}
	return uint64(max(r.High*float64(peak), segment))
}

// Usual is how far off estimates of such runs have been where they were measured.
func Usual(s *setup.Setup) Range {
	if p := Profile(s); p != nil {
		return besides(s).or(p.Residual())
	}
	return residuals().around(s)
}
