// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"strings"

	"snug/internal/estimate"
	"snug/internal/setup"
	"snug/internal/term"
	"snug/internal/units"
)

// comparison is the answer of snug check: the run as it is and, if there is one, the run of the base.
type comparison struct {
	OK         bool     `json:"ok"`
	Problems   []string `json:"problems,omitempty"` // why OK is false, each as "CODE: sentence"
	Here       *checked `json:"here"`
	Base       *checked `json:"base,omitempty"`
	Difference *growth  `json:"difference,omitempty"` // from base to here
	Slower     float64  `json:"slower"`               // the allowed percentage
	Notes      []string `json:"notes,omitempty"`
	base       string   // a description of the revision
	room       room     // what both sides must fit into
}

// growth is the difference in bytes; savings are negative.
type growth struct {
	DevicePeak    int64            `json:"device_peak"`
	PeakReserved  int64            `json:"peak_reserved"`
	PeakAllocated int64            `json:"peak_allocated"`
	Components    map[string]int64 `json:"components"`
	Settings      []changedSetting `json:"settings,omitempty"`
	Speed         *float64         `json:"speed_percent,omitempty"` // how much faster; absent if not compared
	PerToken      bool             `json:"speed_per_token,omitempty"`
}

// changedSetting is a setting that differs.
type changedSetting struct {
	Setting string `json:"setting"`
	Base    string `json:"base"`
	Here    string `json:"here"`
}

// judge fills in the difference and the verdict.
func (c *comparison) judge() {
	report := c.Here.report()
	if !*c.Here.answer.Fits {
		c.Problems = append(c.Problems, "does not fit: "+report.name()+" "+report.sentence())
	}
	if c.Base != nil {
		c.Difference = c.Here.since(c.Base)
		c.judgeSpeed()
	}
	c.OK = len(c.Problems) == 0
}

// judgeSpeed compares the speeds. Samples of different lengths are different amounts of work, so tokens are compared
// if the lengths differ.
func (c *comparison) judgeSpeed() {
	was, is := c.Base.Rate, c.Here.Rate
	switch {
	case was == 0 || is == 0 || !*c.Here.answer.Fits: // a speed is unknown, or the run does not fit
		return
	case c.Base.answer.Fits != nil && !*c.Base.answer.Fits:
		c.Notes = append(c.Notes, fmt.Sprintf("%s does not fit, so speeds are not compared", c.base))
		return
	}
	unit := "samples"
	if a, b := c.Base.answer.Setup.Seq, c.Here.answer.Setup.Seq; a != b && a > 0 && b > 0 {
		unit = "tokens"
		was, is = was*float64(a), is*float64(b)
		c.Difference.PerToken = true
	}
	percent := 100 * (is/was - 1)
	c.Difference.Speed = &percent
	if -percent > c.Slower {
		c.Problems = append(c.Problems, fmt.Sprintf("slower: %.1f %% fewer %s per second than %s; %v %% is allowed (--slower)", -percent, unit, c.base, c.Slower))
	}
}

// since returns how a run differs from the run of the base.
func (c *checked) since(base *checked) *growth {
	minus := func(a, b uint64) int64 { return int64(a) - int64(b) }
	d := &growth{
		DevicePeak:    minus(c.answer.DevicePeak, base.answer.DevicePeak),
		PeakReserved:  minus(c.answer.PeakReserved, base.answer.PeakReserved),
		PeakAllocated: minus(c.answer.PeakAllocated, base.answer.PeakAllocated),
		Components:    map[string]int64{},
	}
	was := componentsOf(base.answer)
	for i, p := range componentsOf(c.answer) {
		d.Components[p.name] = minus(p.bytes, was[i].bytes)
	}
	if a, b := base.answer.Setup.ModelTitle(), c.answer.Setup.ModelTitle(); a != b {
		d.Settings = append(d.Settings, changedSetting{"model", a, b})
	}
	for _, row := range setup.Rows(base.answer.Setup, c.answer.Setup) {
		if row[1] != row[2] {
			d.Settings = append(d.Settings, changedSetting{row[0], row[1], row[2]})
		}
	}
	return d
}

// componentsOf returns the components by their JSON names, including the memory outside PyTorch.
func componentsOf(a *estimate.Answer) []part {
	c := a.Components
	return []part{
		{"parameters", c.Parameters, ""}, {"gradients", c.Gradients, ""}, {"optimizer", c.Optimizer, ""},
		{"activations", c.Activations, ""}, {"logits", c.Logits, ""}, {"batch", c.Batch, ""},
		{"temporaries", c.Temporaries, ""}, {"workspace", c.Workspace, ""}, {"fragmentation", c.Fragmentation, ""},
		{"outside", a.Outside, ""},
	}
}

func (c *checked) report() estimateReport { return estimateReport{Answer: c.answer, card: c.card} }

// text returns the comparison for people: the verdict, what changed, and the memory by component.
func (c *comparison) text(s term.Screen) string {
	var b strings.Builder
	report := c.Here.report()
	report.headline(&b, s)
	if origin := c.room.origin(c.Here.answer.Setup); origin != "" {
		b.WriteString(paragraph(origin+".", s))
	}
	for _, p := range c.Problems {
		if text, ok := strings.CutPrefix(p, "slower: "); ok {
			b.WriteString(paragraph(text+".", s))
		}
	}
	if c.Here.from != "" {
		b.WriteString(s.Cut(c.Here.from, s.Width) + "\n")
	}
	if c.Base == nil {
		return b.String()
	}
	was := fmt.Sprintf("%s (%s)", c.base, c.Base.Commit[:12])
	fmt.Fprintf(&b, "Compared with %s: %s\n\n", was, moreOrLess(c.Difference.DevicePeak))
	for _, line := range s.Table(c.table()) {
		b.WriteString(line + "\n")
	}
	return b.String()
}

// inTable has table names for components whose JSON names would be unclear.
var inTable = map[string]string{"batch": "input batch", "outside": "outside PyTorch"}

// table returns a row for each changed setting, for each component, and for the speed.
func (c *comparison) table() term.Table {
	t := term.Table{Header: []string{"", "base", "here", "difference"}, Right: []int{1, 2, 3}}
	for _, x := range c.Difference.Settings {
		t.Rows = append(t.Rows, []string{x.Setting, x.Base, x.Here, ""})
	}
	add := func(name string, was, is uint64) {
		if was == 0 && is == 0 {
			return
		}
		t.Rows = append(t.Rows, []string{name, units.Bytes(was).String(), units.Bytes(is).String(), signed(int64(is) - int64(was))})
	}
	was := componentsOf(c.Base.answer)
	for i, p := range componentsOf(c.Here.answer) {
		add(cmp.Or(inTable[p.name], p.name), was[i].bytes, p.bytes)
	}
	add("GPU memory", c.Base.answer.DevicePeak, c.Here.answer.DevicePeak)
	if d := c.Difference.Speed; d != nil {
		unit, a, b := "samples / second", c.Base.Rate, c.Here.Rate
		if c.Difference.PerToken {
			unit, a, b = "tokens / second", a*float64(c.Base.answer.Setup.Seq), b*float64(c.Here.answer.Setup.Seq)
		}
		t.Rows = append(t.Rows, []string{unit, term.ThreeDigits(a), term.ThreeDigits(b), fmt.Sprintf("%+.1f %%", *d)})
	}
	return t
}

// signed returns a number of bytes with its sign, or "-" for zero.
func signed(n int64) string {
	switch {
	case n > 0:
		return "+" + units.Bytes(n).String()
	case n < 0:
		return "-" + units.Bytes(-n).String()
	}
	return "-"
}

func moreOrLess(n int64) string {
	switch {
	case n > 0:
		return units.Bytes(n).String() + " more GPU memory"
	case n < 0:
		return units.Bytes(-n).String() + " less GPU memory"
	}
	return "the same amount of GPU memory"
}
