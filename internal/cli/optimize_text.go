// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"snug/internal/estimate"
	"snug/internal/plan"
	"snug/internal/setup"
	"snug/internal/term"
	"snug/internal/units"
)

// planReport is the output of `snug optimize` for one card.
type planReport struct {
	*plan.Plan
	s    term.Screen
	cpus int // processors of the card's machine; 0 if it is another machine
	// noToday means that no batch was given, so there are no current settings: the run is compared with batch 1.
	noToday bool
}

// text returns the report: the recommended settings first, then the details. On a terminal, rows is the
// available space; sections that do not fit are omitted.
func (r planReport) text(rows int) string {
	var sections []string
	if r.Recommended == nil {
		sections = []string{r.part(r.title, r.nothing), r.part(r.levers)}
	} else {
		sections = []string{r.part(r.title, r.sideBySide, r.notes, r.start), r.part(r.rungs), r.part(r.levers), r.part(r.rejected)}
	}
	sections = screenful(sections, rows, moreOfPlan)
	sections = slices.DeleteFunc(sections, func(x string) bool { return x == "" })
	return strings.Join(sections, "\n")
}

// moreOfPlan is shown if the report was cut.
const moreOfPlan = "--explain shows the rest\n"

// part returns the output of the given functions, without trailing empty lines.
func (r planReport) part(write ...func(*strings.Builder)) string {
	var b strings.Builder
	for _, w := range write {
		w(&b)
	}
	if text := strings.TrimRight(b.String(), "\n"); text != "" {
		return text + "\n"
	}
	return ""
}

func (r planReport) title(b *strings.Builder) {
	a := r.Current.Estimate
	fmt.Fprintf(b, "%s\n", r.s.Paint(term.Bold, r.s.Cut(r.name()+" on "+r.into(), r.s.Width)))
	samples := samplesText(r.Target)
	if seq := a.Setup.AsRecorded().Seq; seq > 0 {
		samples += fmt.Sprintf(" of %s tokens", term.Count(seq))
	}
	if a.Params > 0 {
		samples = term.Count(a.Params) + " parameters, " + samples
	}
	if p := estimate.Profile(a.Setup); p != nil {
		samples += "\n" + strings.Join(wrap(strings.Fields(recordedText(p)), " ", r.s.Width), "\n")
	}
	fmt.Fprintf(b, "%s\n\n", samples)
}

// name returns the name of the run.
func (r planReport) name() string {
	a := r.Current.Estimate
	name := a.Setup.ModelTitle()
	if a.ID != "" && a.ID != name {
		name = a.ID + ": " + name
	}
	return name
}

// samplesText returns an effective batch as text.
func samplesText(n int) string {
	if n == 1 {
		return "1 sample per step"
	}
	return term.Count(n) + " samples per step"
}

// into describes what the run must fit into.
func (r planReport) into() string {
	limit := r.Current.Estimate.Setup.Limit
	switch {
	case r.Card.Total == 0 && r.recorded():
		return units.Bytes(limit).String()
	case r.Card.Total == 0:
		return fmt.Sprintf("%v, as fast as %s", units.Bytes(limit), r.GPU)
	case limit > 0:
		return fmt.Sprintf("%s with a limit of %v", called(r.Card), units.Bytes(limit))
	case r.Card.Unnamed && !r.recorded():
		return called(r.Card) + ", as fast as an H200"
	case r.Card.Unnamed, r.Card.Resized:
		return called(r.Card)
	}
	return fmt.Sprintf("%s, %v", r.GPU, units.Bytes(r.Card.Total))
}

// takes returns the memory of a choice and its share of the card.
func (r planReport) takes(c *plan.Choice) (size, share string) {
	a := c.Estimate
	limit := a.Setup.Limit
	if limit > 0 && (r.Card.Total == 0 || limit < r.Card.Total) {
		return units.Bytes(a.PeakReserved).String(), percent(a.PeakReserved, limit)
	}
	return units.Bytes(a.DevicePeak).String(), percent(a.DevicePeak, r.Card.Total)
}

// needs returns the memory of a choice and its share of the available memory: the card's memory minus what is
// reserved or kept free. If nothing fits, only that share explains why.
func (r planReport) needs(c *plan.Choice) (size, share string) {
	size, share = r.takes(c)
	if limit := c.Estimate.Setup.Limit; limit == 0 || r.Card.Total > 0 && limit >= r.Card.Total {
		share = percent(c.Estimate.DevicePeak, r.Room)
	}
	return size, share
}

// speed compares a choice's speed with the current one.
func (r planReport) speed(c *plan.Choice) string {
	if !r.Timed {
		return ""
	}
	if !fits(r.Current) || r.noToday {
		_, rate := throughput(c)
		return rate + "/s"
	}
	return fmt.Sprintf("%.2f%s", c.SamplesPerSecond/r.Current.SamplesPerSecond, r.s.Times())
}

// sideBySide shows the current settings next to the recommended ones.
func (r planReport) sideBySide(b *strings.Builder) {
	now, then := r.Current.Estimate.Setup.AsRecorded(), r.Recommended.Estimate.Setup.AsRecorded()
	t := term.Table{Header: []string{"", r.label(), "recommended"}, Indent: 2}
	for _, row := range setup.Rows(now, then) {
		if row[1] == row[2] {
			row[2] = "unchanged"
		}
		t.Rows = append(t.Rows, listed(row)...)
	}
	memory := []string{"memory", "", ""}
	for i, c := range []*plan.Choice{r.Current, r.Recommended} {
		size, share := r.takes(c)
		memory[i+1] = fmt.Sprintf("%s, %s", size, share)
	}
	if !fits(r.Current) {
		memory[1] += ": does not fit"
	}
	if r.Tight {
		memory[2] += ": might not fit"
	}
	t.Rows = append(t.Rows, memory)
	if r.Timed {
		t.Rows = append(t.Rows, r.speeds())
	}
	r.table(b, t)
}

// label returns the heading of what the recommendation is compared with.
func (r planReport) label() string {
	if r.noToday {
		return "at batch 1"
	}
	return "now"
}

// listed returns a row whose columns contain lists, with one item per line.
func listed(row []string) [][]string {
	var out [][]string
	for column, text := range row {
		for i, item := range strings.Split(text, ",") {
			if i == len(out) {
				out = append(out, make([]string, len(row)))
			}
			out[i][column] = item
		}
	}
	return out
}

// fits reports whether a choice fits.
func fits(c *plan.Choice) bool { return c.Estimate.Fits == nil || *c.Estimate.Fits }

// recorded reports whether the model is a profile.
func (r planReport) recorded() bool { return r.Current.Estimate.Setup.Model.Program != nil }

// speeds compares the current speed with the recommended one.
func (r planReport) speeds() []string {
	was := "does not run"
	unit, is := throughput(r.Recommended)
	if fits(r.Current) {
		_, was = throughput(r.Current)
		if !r.noToday {
			is += ", " + r.speed(r.Recommended)
		}
	}
	return []string{unit + " / second", was, is}
}

// throughput returns a choice's tokens per second or, if it has no text, samples per second.
func throughput(c *plan.Choice) (unit, rate string) {
	if seq := c.Estimate.Setup.Seq; seq > 0 {
		return "tokens", term.ThreeDigits(c.SamplesPerSecond * float64(seq))
	}
	return "samples", term.ThreeDigits(c.SamplesPerSecond)
}

func (r planReport) table(b *strings.Builder, t term.Table) {
	for _, l := range r.s.Table(t) {
		b.WriteString(l + "\n")
	}
	b.WriteString("\n")
}

// notes writes the plan's notes.
func (r planReport) notes(b *strings.Builder) {
	for _, n := range r.Notes {
		for _, l := range wrap(strings.Fields(n), " ", r.s.Width-2) {
			b.WriteString("  " + l + "\n")
		}
	}
	if len(r.Notes) > 0 {
		b.WriteString("\n")
	}
}

func (r planReport) rungs(b *strings.Builder) {
	t := term.Table{Header: []string{"ladder", "up to", "batch " + r.s.Times() + " acc.", "memory", "card", "speed"}, Right: []int{1, 3, 4, 5}, Indent: 2}
	if !r.Timed {
		t.Header[5] = ""
	}
	steps := r.steps()
	for _, x := range steps {
		row := []string{x.Name, fmt.Sprintf("%.0f %%", 100*x.Share), "nothing fits", "", "", ""}
		if x.Choice != nil {
			size, share := r.takes(x.Choice)
			row = []string{x.Name, row[1], r.how(x.Choice), size, share, r.speed(x.Choice)}
		}
		t.Rows = append(t.Rows, row)
	}
	r.table(b, t)
	for _, x := range steps {
		for i, l := range wrap(strings.Fields(x.Risk), " ", r.s.Width-16) {
			name := x.Name
			if i > 0 {
				name = ""
			}
			fmt.Fprintf(b, "  %-12s%s\n", name, l)
		}
	}
	b.WriteString("\n")
}

// steps returns the rungs of the ladder that differ from the previous one. A rung with the same settings as a safer one
// adds nothing.
func (r planReport) steps() []plan.Rung {
	var out []plan.Rung
	for i, x := range r.Ladder {
		if i > 0 && same(x.Choice, r.Ladder[i-1].Choice) {
			continue
		}
		out = append(out, x)
	}
	return out
}

// same reports whether two rungs have the same settings, or both have none.
func same(a, b *plan.Choice) bool {
	if a == nil || b == nil {
		return a == b
	}
	return reflect.DeepEqual(a.Settings, b.Settings)
}

// how returns the batch of a rung, and its other differences from the recommended settings.
func (r planReport) how(c *plan.Choice) string {
	a, best := c.Estimate.Setup, r.Recommended.Estimate.Setup
	out := fmt.Sprintf("%d %s %d", a.Batch, r.s.Times(), a.Accumulation)
	if n := a.Batch * a.Accumulation * a.Dist.World(); n != r.Target {
		out += fmt.Sprintf(" (%d a step)", n)
	}
	add := func(is bool, text string) {
		if is {
			out += ", " + text
		}
	}
	add(a.Checkpointing != best.Checkpointing, map[bool]string{true: "checkp.", false: "no checkp."}[a.Checkpointing])
	add(a.Precision != best.Precision, a.Precision)
	add(a.Optimizer != best.Optimizer, a.Optimizer)
	add(a.Allocator != best.Allocator, map[bool]string{true: "expandable", false: "no expandable"}[a.Allocator != ""])
	return out
}

// nothing writes how much memory is needed if no settings fit.
func (r planReport) nothing(b *strings.Builder) {
	size, share := r.needs(r.Least)
	para := fmt.Sprintf("%s The minimum, at batch %d (%s), is %s: %s of the available memory.",
		r.s.Paint(term.Red, "Nothing fits."), r.Least.Estimate.Setup.Batch, strings.ReplaceAll(r.Least.Change, "×", r.s.Times()), size, share)
	if a := r.Least.Estimate; (estimateReport{Answer: a}).decides() == "evaluation" && a.Setup.Evaluation != nil {
		para += fmt.Sprintf(" The cause is the evaluation, at batch %d; training alone takes less.", a.Setup.EvaluationBatch())
	}
	if r.Rescued != nil {
		size, share := r.needs(r.Rescued)
		para += fmt.Sprintf(" With %s it takes %s, %s.", strings.Join(r.Rescue, " and "), size, share)
		if len(r.Flags) > 0 {
			para += " As flags: " + strings.Join(r.Flags, " ")
		} else {
			para += " This has no flag: it is a change to the training code."
		}
	} else if r.recorded() {
		para += " Checkpointing, other precisions and sharding are not in the profile; record the run with them to compare."
	} else {
		para += " No combination of up to four levers makes it fit."
	}
	b.WriteString(strings.Join(wrap(strings.Fields(para), " ", r.s.Width), "\n") + "\n\n")
}
