// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"slices"

	"snug/internal/allocator"
	"snug/internal/gpu"
	"snug/internal/setup"
)

// The possible error of an estimate is based on measured runs of its kind: the same kind of card, the same PyTorch,
// the same family and options. If there are fewer than three, it is based on the next wider kind, and the answer says
// which.
//
//	card and version, family with each of the options
//	card and version, the option with any family
//	card and version
//	card, any version
//	version, any card
//	everything
//
// The range between the bounds of an uncertainty (see Uncertainty) does not count as an error; only the distance
// outside it does.

// Residuals are the errors of estimates. `make accuracy` (package accuracy) computes them from the runs in
// testdata/measured and writes residuals.json.
type Residuals struct {
	Measured []Measured       `json:"measured"` // one entry for each card and PyTorch release
	Added    Range            `json:"added"`    // for recorded runs with added gradients or buckets (see Kept)
	Several  map[string]Range `json:"several"`  // for runs over several GPUs, in either direction, by kind; "" is all
}

// Measured holds the errors on one kind of card with one PyTorch version, by group of settings.
type Measured struct {
	Card   string           `json:"card"`   // catalog name of a card of that kind
	Torch  string           `json:"torch"`  // release, such as 2.11
	Groups map[string]Range `json:"groups"` // errors by group of settings
}

// Range is a range of estimation errors, as true/estimated - 1.
type Range struct {
	Cases int     `json:"cases"` // the number of runs
	Low   float64 `json:"low"`   // the lowest error
	High  float64 `json:"high"`  // the highest error
}

// enough is the number of runs that a group needs to count as evidence.
const enough = 3

// Case is a measured run with the error of its estimate.
type Case struct {
	Card, Torch string       // where the run was measured
	Setup       *setup.Setup // the run
	Off         float64      // distance of the measured value from the interval, relative to the nearer end; 0 inside
}

// NewResiduals summarizes measured cases.
func NewResiduals(cases []Case) Residuals {
	var t Residuals
	for _, c := range cases {
		t.on(c.Card, c.Torch).add(c)
	}
	return t
}

// on returns the entry for a card and a version.
func (t *Residuals) on(card, torch string) *Measured {
	is := func(m Measured) bool { return m.Card == card && m.Torch == torch }
	i := slices.IndexFunc(t.Measured, is)
	if i < 0 {
		i = len(t.Measured)
		t.Measured = append(t.Measured, Measured{Card: card, Torch: torch, Groups: map[string]Range{}})
	}
	return &t.Measured[i]
}

func (m *Measured) add(c Case) {
	for _, g := range groups(c.Setup) {
		r := m.Groups[g]
		m.Groups[g] = r.merge(Range{Cases: 1, Low: c.Off, High: c.Off})
	}
}

// merge returns the range that covers both.
func (r Range) merge(o Range) Range {
	return Range{Cases: r.Cases + o.Cases, Low: min(r.Low, o.Low), High: max(r.High, o.High)}
}

// overSeveral is the group of all runs over several GPUs.
const overSeveral = "dist"

// groups lists every group that a run belongs to: all, its family, each option, and each option with that family.
// The error of a run over several GPUs does not apply to one GPU, so runs over several GPUs have their own groups.
func groups(s *setup.Setup) []string {
	if s.Dist != nil {
		out := []string{overSeveral, overSeveral + " " + s.Dist.Kind}
		for _, o := range Options(s) {
			out = append(out, overSeveral+", "+o)
		}
		return out
	}
	family := s.Model.Family()
	out := []string{"", family}
	for _, o := range Options(s) {
		out = append(out, o, family+", "+o)
	}
	return out
}

// About returns the errors of runs of this kind on this kind of card, and the evidence for them.
func (t Residuals) About(s *setup.Setup, card gpu.Card) (Range, Evidence) {
	torch := minor(s)
	if m := t.measured(card, torch, true, true); m.Groups[""].Cases >= enough {
		return m.about(s)
	}
	for _, same := range [][2]bool{{true, false}, {false, true}, {false, false}} {
		m := t.measured(card, torch, same[0], same[1])
		if r := m.all(s); r.Cases >= enough {
			return r, Evidence{Runs: r.Cases, Card: m.Card, Torch: m.Torch, Lacks: t.lacks(card, torch)}
		}
	}
	return Range{}, Evidence{}
}

// measured combines the measurements on cards of that kind or on all cards, with that version or with all versions.
func (t Residuals) measured(card gpu.Card, torch string, onIt, withIt bool) Measured {
	var some []Measured
	for _, m := range t.Measured {
		if (!onIt || m.on(card)) && (!withIt || m.Torch == torch) {
			some = append(some, m)
		}
	}
	if len(some) == 1 {
		return some[0]
	}
	out := Measured{Groups: map[string]Range{}}
	for _, m := range some {
		out.Card, out.Torch = list(out.Card, m.Card), list(out.Torch, m.Torch)
		for name, g := range m.Groups {
			r := out.Groups[name]
			out.Groups[name] = r.merge(g)
		}
	}
	return out
}

// on reports whether a card is of the measured kind.
func (m Measured) on(card gpu.Card) bool {
	was, err := gpu.Find(m.Card)
	return err == nil && card.Kernels(0) == was.Kernels(0)
}

// all returns the range of errors of all runs on one GPU and, if s uses several GPUs, also of those on several.
func (m Measured) all(s *setup.Setup) Range {
	r := m.Groups[""]
	if s.Dist != nil {
		g := m.Groups[overSeveral]
		return r.merge(g)
	}
	return r
}

// about returns the errors of the family's runs, and the weakest evidence that they are based on. An option with
// few measurements for this family widens the range to that option with other families; an option with few
// measurements overall widens it to all runs.
func (m Measured) about(s *setup.Setup) (Range, Evidence) {
	family := s.Model.Family()
	r, from := m.Groups[family], Evidence{Family: family}
	if r.Cases < enough {
		r, from = m.all(s), Evidence{}
	}
	from.Runs = r.Cases
	for _, o := range Options(s) {
		if m.Groups[family+", "+o].Cases >= enough {
			continue
		}
		g, of := m.Groups[o], Evidence{Option: o}
		if s.Dist != nil && m.Groups[overSeveral+", "+o].Cases >= enough {
			g = m.Groups[overSeveral+", "+o]
		}
		if g.Cases < enough {
			g, of = m.all(s), Evidence{}
		}
		r.Low, r.High = min(r.Low, g.Low), max(r.High, g.High)
		if from != (Evidence{Runs: from.Runs}) { // the evidence is still limited to a family or an option
			from, from.Runs = of, g.Cases
		}
	}
	from.Card, from.Torch = m.Card, m.Torch
	return r, from
}

// minor returns the part of PyTorch's version that affects kernels and the allocator.
func minor(s *setup.Setup) string {
	v, err := allocator.ParseVersion(s.Versions.Torch)
	if err != nil {
		return setup.NewestTorch
	}
	return v.String()
}
