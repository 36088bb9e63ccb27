// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"snug/internal/estimate"
	"snug/internal/setup"
	"snug/internal/term"
	"snug/internal/units"
)

// shown returns the text report, or with --short its first line. The search for the largest batch may take a
// while.
func (r estimateReport) shown(ctx context.Context, env Env) (string, error) {
	defer env.working("searching for the largest batch")()
	if r.options.short {
		return r.short(), nil
	}
	return r.text(ctx, env.screen())
}

// text returns the report: the verdict first, then the details. On a terminal without --explain, the last
// sections are omitted if the verdict would scroll off the screen.
func (r estimateReport) text(ctx context.Context, s term.Screen) (string, error) {
	verdict, err := r.verdict(ctx, s)
	if err != nil {
		return "", err
	}
	sections := []string{verdict, r.varying(s), r.run(s), r.components(s), r.phases(s)}
	chart, err := r.timeline(s)
	if err != nil {
		return "", err
	}
	sections = append(sections, chart)
	switch {
	case r.options.explain && r.Run == nil:
		sections = append(sections, "  A profile does not contain the names of tensors; snug replay lists them\n  from a recording.\n")
	case r.options.explain:
		tensors, err := r.alive(s)
		if err != nil {
			return "", err
		}
		sections = append(sections, tensors)
	default:
		sections = screenful(sections, s.Height, moreOfEstimate)
	}
	sections = slices.DeleteFunc(sections, func(x string) bool { return x == "" })
	return strings.Join(sections, "\n"), nil
}

// moreOfEstimate is shown if a report was cut.
const moreOfEstimate = "--explain shows the rest: phases, one step over time, the tensors at the peak\n"

// screenful returns the sections that fit the rows of a terminal, followed by more if any are omitted. If rows is
// 0, it returns all.
func screenful(sections []string, rows int, more string) []string {
	used := 0
	for i, x := range sections {
		if x == "" {
			continue
		}
		lines := strings.Count(x, "\n") + 1 // plus an empty line, or the prompt
		const about = 2                     // more, and the empty line before it
		last := !slices.ContainsFunc(sections[i+1:], func(x string) bool { return x != "" })
		if used += lines; rows > 0 && i > 0 && (used > rows || !last && used+about > rows) {
			return append(slices.Clone(sections[:i]), more)
		}
	}
	return sections
}

// run describes the run, and what PyTorch reserves for it.
func (r estimateReport) run(s term.Screen) string {
	var b strings.Builder
	if p := estimate.Profile(r.Setup); p != nil {
		b.WriteString(paragraph(recordedText(p), s))
	}
	params := term.Count(r.Params) + " parameters"
	switch {
	case r.Params == 0:
	case r.Trainable == r.Params:
		fmt.Fprintf(&b, "%s, all trained\n", params)
	default:
		fmt.Fprintf(&b, "%s, %s trained (%s)\n", params, term.Count(r.Trainable), percent(uint64(r.Trainable), uint64(r.Params)))
	}
	r.weights(&b)
	for _, l := range wrap(settings(r.Setup.AsRecorded()), ", ", s.Width) {
		if len(l) > s.Width { // a single setting that is wider than the screen
			l = strings.Join(wrap(strings.Fields(l), " ", s.Width), "\n")
		}
		b.WriteString(l + "\n")
	}
	if from := r.Setup.Script.Origins(); from != "" {
		b.WriteString(paragraph(from, s))
	}
	if from := r.options.from; from != "" {
		b.WriteString(s.Cut(from, s.Width) + "\n")
	}
	r.peaks(&b, s)
	return b.String()
}

// paragraph wraps text to the screen's width.
func paragraph(text string, s term.Screen) string {
	return strings.Join(wrap(strings.Fields(text), " ", s.Width), "\n") + "\n"
}

// weights compares the model with its weight files.
func (r estimateReport) weights(b *strings.Builder) {
	w := r.Setup.Model.Weights
	switch {
	case w == nil:
	case w.Params == r.Params || r.Setup.LoRA != nil:
		fmt.Fprintf(b, "the weight files are in %s\n", w.Main())
	default:
		fmt.Fprintf(b, "the weight files contain %s in %s: a different head, or tied weights\n", term.Count(w.Params), w.Main())
	}
}

// settings describes the run, with related settings together.
func settings(x *setup.Setup) []string {
	batch := fmt.Sprintf("batch %s", term.Count(x.Batch))
	switch {
	case x.Choices > 0:
		batch += fmt.Sprintf(" × %s choices", term.Count(x.Choices))
	case x.Rows() > 1:
		batch += fmt.Sprintf(" × %s rows", term.Count(x.Rows()))
	}
	if x.Seq > 0 {
		batch += fmt.Sprintf(" of %s tokens", term.Count(x.Seq))
	}
	if x.Lengths != nil {
		batch = fmt.Sprintf("batch %s of up to %s tokens over %s steps", term.Count(x.Batch), term.Count(x.Seq), term.Count(x.Steps))
	}
	if x.TargetSeq > 0 {
		batch += fmt.Sprintf(" to %s", term.Count(x.TargetSeq))
	}
	out := []string{batch}
	if head := x.TrainedHead(); x.Model.Program == nil && headed(head) {
		out = append(out, head+" head") // models of this kind are trained with various heads
	}
	for _, name := range slices.Sorted(maps.Keys(x.Sizes)) {
		out = append(out, fmt.Sprintf("%s %s", name, term.Count(x.Sizes[name])))
	}
	return append(out, setup.Phrases(x)...)
}

// headed reports whether models with this head are also trained with other heads.
func headed(head string) bool {
	switch head {
	case "masked-lm", "encoder", "sequence-classification", "token-classification", "question-answering", "multiple-choice":
		return true
	}
	return false
}

// wrap joins words into lines that fit.
func wrap(words []string, between string, width int) []string {
	line, lines := "", []string(nil)
	for _, w := range words {
		switch {
		case line == "":
			line = w
		case len(line)+len(between)+len(w) >= width:
			lines = append(lines, line+strings.TrimRight(between, " "))
			line = w
		default:
			line += between + w
		}
	}
	return append(lines, line)
}

// peaks writes how much PyTorch reserves and how much of it is in tensors.
func (r estimateReport) peaks(b *strings.Builder, s term.Screen) {
	line := func(label string, value uint64, note string) {
		fmt.Fprintf(b, "  %-16s %10s  %s\n", label, units.Bytes(value), note)
	}
	expect := fmt.Sprintf("by PyTorch; expect %v %s %v", units.Bytes(r.Interval[0]), s.Dash(), units.Bytes(r.Interval[1]))
	if r.Here > 0 {
		expect += fmt.Sprintf(" (%d runs here)", r.Here)
	}
	line("reserved", r.PeakReserved, expect)
	const indent = 31
	for _, why := range r.causes() {
		for _, l := range wrap(strings.Fields("("+why+")"), " ", s.Width-indent) {
			fmt.Fprintf(b, "%*s%s\n", indent, "", l)
		}
	}
	where := "in tensors"
	if r.decides() != "" {
		where += "; peak in " + r.decides()
	}
	line("allocated", r.PeakAllocated, where)
}
