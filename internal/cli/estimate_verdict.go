// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strings"

	"snug/internal/estimate"
	"snug/internal/term"
	"snug/internal/units"
)

// verdict returns the first section: how much the run takes, whether it fits, by how much, and what to do.
func (r estimateReport) verdict(ctx context.Context, s term.Screen) (string, error) {
	var b strings.Builder
	r.headline(&b, s)
	if _, need, size := r.into(); size > 0 {
		width := s.Width - max(12, 4+len(percent(need, size)))
		bar := s.Bar(need, size, width)
		rest := strings.Repeat(s.Shade(), max(width-len([]rune(bar)), 0))
		fmt.Fprintf(&b, "  %s%s %s\n", s.Paint(r.color(), bar), s.Paint(term.Dim, rest), percent(need, size))
	}
	if r.origin != "" {
		b.WriteString(paragraph(r.origin+".", s))
	}
	load, err := loadText(r.Answer, r.card)
	for _, text := range []string{r.whatFits(), load, r.advice()} {
		if text != "" {
			b.WriteString(paragraph(text, s))
		}
	}
	if err == nil && r.Fits != nil && !*r.Fits && r.Events() <= searchable {
		var fixes string
		fixes, err = remediesText(ctx, r.Setup, r.card, s)
		b.WriteString(fixes)
	}
	return b.String(), err
}

// headline writes the name and the verdict, on one line if they fit.
func (r estimateReport) headline(b *strings.Builder, s term.Screen) {
	name, text := r.name(), r.sentence()
	if len([]rune(name+text))+1 <= s.Width {
		fmt.Fprintf(b, "%s %s\n", s.Paint(term.Bold, name), r.painted(s, text))
		return
	}
	fmt.Fprintf(b, "%s\n%s", s.Paint(term.Bold, s.Cut(name, s.Width)), r.painted(s, paragraph(text, s)))
}

// painted returns the sentence with its verdict in color.
func (r estimateReport) painted(s term.Screen, text string) string {
	for _, word := range []string{"does not fit", "fits"} {
		if rest, ok := strings.CutPrefix(text, word); ok {
			return s.Paint(r.color(), word) + rest
		}
	}
	return text
}

func (r estimateReport) color() term.Style {
	if r.Fits != nil && !*r.Fits {
		return term.Red
	}
	return term.Green
}

// name returns the name of the run.
func (r estimateReport) name() string {
	name := r.Setup.ModelTitle()
	if r.ID != "" && r.ID != name {
		name = r.ID + ": " + name
	}
	return name
}

// sentence returns the verdict, such as "fits on RTX-4090: 15.32 GiB of 23.51 GiB, 8.19 GiB to spare".
func (r estimateReport) sentence() string {
	where, need, size := r.into()
	if r.Fits == nil {
		return fmt.Sprintf("takes %v of GPU memory", units.Bytes(need))
	}
	text := "does not fit "
	if *r.Fits {
		text = "fits "
	}
	text += where
	unsure := *r.Fits && r.MightNotFit()
	wide := unsure && need < size-size/20 // it leaves room, but the estimate may be far off
	if unsure && !wide {
		text += ", but only just"
	}
	text += fmt.Sprintf(": %v of %v", units.Bytes(need), units.Bytes(size))
	switch {
	case *r.Fits && need <= size:
		text += fmt.Sprintf(", %v to spare", units.Bytes(size-need))
	case !*r.Fits && need > size:
		text += fmt.Sprintf(", %v too much", units.Bytes(need-size))
	}
	if most := r.Interval[1] + need - r.PeakReserved; wide && most > size {
		text += fmt.Sprintf(", but it may take up to %v", units.Bytes(most))
	}
	return text
}

// into returns where the run must fit ("on H200"), the memory it uses there, and the size: of the limit or the card,
// whichever is tighter. A limit applies to the memory that PyTorch reserves.
func (r estimateReport) into() (where string, need, size uint64) {
	limit, total := r.Setup.Limit, r.card.Total
	if limit > 0 && (total == 0 || int64(limit-r.PeakReserved) < int64(total-r.DevicePeak)) {
		return "within the limit", r.PeakReserved, limit
	}
	if r.card.Unnamed && !r.card.Least && total > 0 {
		return "on the card", r.DevicePeak, total
	}
	return "on " + called(r.card), r.DevicePeak, total
}

// searchable is the largest number of events of a run whose largest batch is also searched for. A search
// simulates a dozen such runs, in about a second.
const searchable = 500_000

// whatFits returns a sentence with the largest batch that fits or, if the search would take long, the command
// that finds it.
func (r estimateReport) whatFits() string {
	if r.Fits == nil {
		return "Name a card with --gpu to see whether it fits."
	}
	if r.Events() > searchable {
		return "This run takes a long time to simulate; use snug max-batch to find the largest batch that fits."
	}
	m, err := r.largest()
	if err != nil { // a script sets its own batch
		return fmt.Sprintf("The largest batch is unknown: %v.", err)
	}
	return m.text(r.card)
}

// largest searches for the largest batch that fits.
func (r estimateReport) largest() (edge, error) {
	m, err := estimate.MaxBatch(r.Setup, r.card)
	if err != nil {
		return edge{}, err
	}
	safe, err := m.SafeBatch(r.Answer)
	if err != nil {
		return edge{}, err
	}
	return edge{MaxAnswer: m, safe: safe}.withRoom(r.card)
}

// assumesFP32 reports whether the run is in fp32 only because nothing gives a precision.
func (r estimateReport) assumesFP32() bool {
	return r.options.assumesFP32(r.Setup)
}

// advice returns a sentence with the command that looks for settings that fit.
func (r estimateReport) advice() string {
	if r.Fits == nil || *r.Fits {
		return ""
	}
	text := "snug optimize with the same flags looks for settings that fit."
	if r.assumesFP32() {
		less := "bf16 takes less, and so does amp-bf16 with larger batches"
		if r.card.LacksBF16() {
			less = "amp-fp16 takes less with larger batches"
		}
		text = "This is in fp32, since no --precision is given; " + less + ". " + text
	}
	return text
}
