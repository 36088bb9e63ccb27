// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"snug/internal/estimate"
	"snug/internal/setup"
	"snug/internal/shadow"
	"snug/internal/term"
	"snug/internal/units"
)

// text writes the report for people.
func (r estimateReport) text(w io.Writer, s term.Screen) error {
	var b strings.Builder
	r.title(&b, s)
	r.total(&b, s)
	r.components(&b, s)
	r.phases(&b, s)
	err := r.timeline(&b, s)
	switch {
	case err == nil && r.options.explain && r.Run == nil:
		b.WriteString("\n  A profile does not contain the names of tensors; snug replay lists them\n  from a recording.\n")
	case err == nil && r.options.explain:
		r.alive(&b, s)
	}
	r.varying(&b, s)
	if err == nil {
		err = r.loading(&b, s)
	}
	if err == nil {
		err = r.whatFits(&b, s)
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, b.String())
	return err
}

func (r estimateReport) title(b *strings.Builder, s term.Screen) {
	name := r.Setup.ModelTitle()
	if r.ID != "" && r.ID != name {
		name = r.ID + ": " + name
	}
	params := term.Count(r.Params) + " parameters"
	fmt.Fprintf(b, "%s\n", s.Paint(term.Bold, s.Cut(name, s.Width)))
	if p := estimate.Profile(r.Setup); p != nil {
		b.WriteString(strings.Join(wrap(strings.Fields(recordedText(p)), " ", s.Width), "\n") + "\n")
	}
	switch {
	case r.Params == 0:
	case r.Trainable == r.Params:
		fmt.Fprintf(b, "%s, all trained\n", params)
	default:
		fmt.Fprintf(b, "%s, %s trained (%s)\n", params, term.Count(r.Trainable), percent(uint64(r.Trainable), uint64(r.Params)))
	}
	r.weights(b)
	for _, l := range wrap(settings(r.Setup.AsRecorded()), ", ", s.Width) {
		if len(l) > s.Width { // a list of its own
			l = strings.Join(wrap(strings.Fields(l), " ", s.Width), "\n")
		}
		b.WriteString(l + "\n")
	}
	if from := r.Setup.Script.Origins(); from != "" {
		b.WriteString(strings.Join(wrap(strings.Fields(from), " ", s.Width), "\n") + "\n")
	}
	if from := r.options.from; from != "" {
		b.WriteString(s.Cut(from, s.Width) + "\n")
	}
	b.WriteString("\n")
}

// weights compares the model with the files that it would be loaded from.
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

// settings describes the run, grouped by what belongs together.
func settings(x *setup.Setup) []string {
	batch := fmt.Sprintf("batch %s", term.Count(x.Batch))
	if x.Rows() > 1 {
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
	if head := x.Model.Head; x.Model.Program == nil && headed(head) {
		out = append(out, head+" head") // such models are trained with either
	}
	for _, name := range slices.Sorted(maps.Keys(x.Sizes)) {
		out = append(out, fmt.Sprintf("%s %s", name, term.Count(x.Sizes[name])))
	}
	return append(out, setup.Phrases(x)...)
}

// headed reports whether models with this head are trained with other heads as well.
func headed(head string) bool {
	return head == "masked-lm" || head == "encoder" || head == "sequence-classification" || head == "token-classification"
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

// total writes the main figure, compared with the card if there is one.
func (r estimateReport) total(b *strings.Builder, s term.Screen) {
	line := func(label string, value uint64, note string) {
		fmt.Fprintf(b, "  %-16s %10s  %s\n", label, units.Bytes(value), note)
	}
	line("on the card", r.DevicePeak, r.against(s))
	if full := r.card.Total; full > 0 {
		width := s.Width - max(12, 4+len(percent(r.DevicePeak, full)))
		bar := s.Bar(r.DevicePeak, full, width)
		rest := strings.Repeat(s.Shade(), max(width-len([]rune(bar)), 0))
		fmt.Fprintf(b, "  %s%s %s\n", s.Paint(r.color(), bar), s.Paint(term.Dim, rest), percent(r.DevicePeak, full))
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
	b.WriteString("\n")
}

func (r estimateReport) color() term.Style {
	if r.Fits != nil && !*r.Fits {
		return term.Red
	}
	return term.Green
}

// against returns the verdict in words: whether the run fits (finish in estimate/estimate.go), or only just
// (MightNotFit in estimate/interval.go).
func (r estimateReport) against(s term.Screen) string {
	into := ""
	if r.card.Total > 0 {
		into = room(r.card)
	}
	if limit := r.Setup.Limit; limit > 0 {
		into = strings.TrimPrefix(into+fmt.Sprintf(", limit %v", units.Bytes(limit)), ", ")
	}
	switch {
	case r.Fits == nil:
		return "name a card with --gpu to see whether it fits"
	case *r.Fits && r.MightNotFit():
		return into + ": " + s.Paint(term.Green, "fits") + ", but only just"
	case *r.Fits:
		return into + ": " + s.Paint(term.Green, "fits")
	}
	return into + ": " + s.Paint(term.Red, "does not fit")
}

// alive lists what holds memory at the peak.
func (r estimateReport) alive(b *strings.Builder, s term.Screen) {
	groups := r.Groups()
	t := term.Table{Header: []string{"tensors alive at the peak", "", "each", "all", "for"}, Right: []int{1, 2, 3}, Indent: 2}
	var rest uint64
	for i, g := range groups {
		if i >= r.options.top {
			rest += g.Bytes
			continue
		}
		each := units.Bytes(g.Bytes / uint64(g.Count)).String()
		t.Rows = append(t.Rows, []string{r.place(g), fmt.Sprintf("%s%d", s.Times(), g.Count), each, units.Bytes(g.Bytes).String(), g.Component.String()})
	}
	b.WriteString("\n")
	for _, l := range s.Table(t) {
		b.WriteString(l + "\n")
	}
	if rest > 0 {
		fmt.Fprintf(b, "  and %s in %d more kinds (--top)\n", units.Bytes(rest), len(groups)-r.options.top)
	}
}

// place returns where a group's tensors were made.
func (r estimateReport) place(g estimate.Group) string {
	switch {
	case g.Path != "":
		return g.Path
	case g.Component == shadow.Logits:
		return "(the loss)"
	case g.Component == shadow.Temporaries && r.decides() == "optimizer":
		return "(the optimizer's step)"
	}
	return "(outside the modules)"
}

// searchable is the number of events up to which the largest batch of a run is searched as well. A search
// plays a dozen such runs, in about a second.
const searchable = 500_000

// whatFits writes which batch would fit, or which command finds it if the search would take a long time.
func (r estimateReport) whatFits(b *strings.Builder, s term.Screen) error {
	if r.Fits == nil {
		return nil
	}
	if r.Events() > searchable {
		b.WriteString("\nThis run takes a long time to simulate; use snug max-batch to find the largest\nbatch that fits.\n")
		return nil
	}
	m, err := estimate.MaxBatch(r.Setup, r.card)
	if err != nil {
		return err
	}
	safe, err := m.SafeBatch(r.Answer)
	if err != nil {
		return err
	}
	at, err := edge{MaxAnswer: m, safe: safe}.withRoom(r.card)
	if err != nil {
		return err
	}
	b.WriteString("\n" + strings.Join(wrap(strings.Fields(at.text(r.card)), " ", s.Width), "\n") + "\n")
	if *r.Fits {
		return nil
	}
	text, err := remediesText(r.Setup, r.card, s)
	if text != "" {
		b.WriteString("\n" + text)
	}
	return err
}
