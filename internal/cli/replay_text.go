// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"snug/internal/replay"
	"snug/internal/term"
	"snug/internal/units"
)

const (
	chartHeight = 7
	chartIndent = 2
	labelWidth  = 12 // "1023.9 MiB" and the axis
)

func chartColumns(s term.Screen) int { return s.Width - chartIndent - labelWidth - 2 }

// text writes the report as text.
func (r *replayReport) text(w io.Writer, s term.Screen) error {
	var b strings.Builder
	r.title(&b, s)
	r.figures(&b, s)
	r.chart(&b, s)
	r.comparison(&b, s)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *replayReport) title(b *strings.Builder, s term.Screen) {
	d := r.device
	what := fmt.Sprintf(": %s events", term.Count(len(d.Trace.Events)))
	if n := len(d.Times); n > 0 {
		what += fmt.Sprintf(" in %s", seconds(float64(d.Times[n-1]-d.Times[0])/1e6))
	}
	what += fmt.Sprintf(", PyTorch %s, GPU %d", r.result.Torch, d.Index)
	name := s.Cut(filepath.Base(r.path), max(s.Width-len(what), 20))
	fmt.Fprintf(b, "%s%s\n", s.Paint(term.Bold, name), what)
	if others := len(r.rec.Devices) - 1; others > 0 {
		fmt.Fprintf(b, "%d more GPUs in the file; choose one with --device N\n", others)
	}
	if under := r.under(); under != "" {
		fmt.Fprintf(b, "replayed %s\n", under)
	}
	b.WriteString("\n")
}

// under describes how the replay differs from the recorded run.
func (r *replayReport) under() string {
	var parts []string
	if r.options.confSet {
		parts = append(parts, fmt.Sprintf("with %q", r.options.conf))
	}
	if r.limit > 0 {
		parts = append(parts, fmt.Sprintf("under a limit of %v", units.Bytes(r.limit)))
	}
	if len(parts) == 0 && r.options.addresses == "own" {
		parts = append(parts, "at simulated addresses")
	}
	return strings.Join(parts, ", ")
}

func (r *replayReport) figures(b *strings.Builder, s term.Screen) {
	res := r.result
	line := func(label string, value units.Bytes, note string) {
		fmt.Fprintf(b, "  %-15s %10s  %s\n", label, value, note)
	}
	room := s.Width - 2 - 15 - 1 - 10 - 2
	line("peak reserved", units.Bytes(res.PeakReserved), r.when(res.PeakReservedAt, room))
	line("peak allocated", units.Bytes(res.PeakAllocated), r.when(res.PeakAllocatedAt, room))
	lost := res.PeakReserved - min(res.PeakAllocated, res.PeakReserved)
	line("fragmentation", units.Bytes(lost), percent(lost, res.PeakReserved)+" of the peak: reserved but unused")
	if start := res.Start.Reserved; start > 16*units.MiB {
		line("at the start", units.Bytes(start), "reserved before the recording began")
	}
	for _, o := range r.device.OOMs {
		const refused = "refused in the recorded run, "
		line("out of memory", units.Bytes(o.Size), refused+r.when(o.Event, room-len(refused)))
	}
	fmt.Fprintf(b, "  %-15s %s\n", "replay", r.verdict(s))
}

// when describes an event, without the time if there is no space for it.
func (r *replayReport) when(event, room int) string {
	m := replay.MomentOf(r.rec, r.device, event)
	if m.Event < 0 {
		return "before the recording"
	}
	text, phase := "at event "+term.Count(m.Event), ""
	if m.Phase != "" {
		phase = ", " + m.Phase
	}
	if in := ", " + seconds(m.Seconds) + " in"; m.Timed && len(text+in+phase) <= room {
		text += in
	}
	return text + phase
}

func (r *replayReport) verdict(s term.Screen) string {
	res, n := r.result, len(r.device.SegmentEvents)
	switch {
	case res.OOM != nil:
		return s.Paint(term.Red, "does not fit") + ", out of memory at event " + term.Count(res.OOMAt)
	case res.Exact() && n > 0:
		return s.Paint(term.Green, "exact") + fmt.Sprintf(": all %s segment events as recorded", term.Count(n))
	case res.Exact():
		return s.Paint(term.Green, "exact") + ": no segment was allocated or freed, as recorded"
	case res.Mismatch != "":
		return s.Paint(term.Red, "not exact") + ": " + res.Mismatch
	case r.limit > 0:
		return "fits"
	default:
		return "at simulated addresses, equal blocks may be chosen in a different order"
	}
}

func (r *replayReport) chart(b *strings.Builder, s term.Screen) {
	samples := r.result.Timeline
	if len(samples) == 0 {
		return
	}
	c := term.Chart{Height: chartHeight, Mark: -1}
	var most uint64
	for _, x := range samples {
		c.Inner, c.Outer = append(c.Inner, x.Allocated), append(c.Outer, x.Reserved)
		most = max(most, x.Reserved)
	}
	c.Top = fmt.Sprintf("%10s", units.Bytes(most))
	if at := r.result.PeakAllocatedAt; at >= 0 {
		c.Mark = at * len(samples) / len(r.device.Trace.Events)
	}
	b.WriteString("\n")
	for _, l := range s.Chart(c) {
		b.WriteString(strings.Repeat(" ", chartIndent) + l + "\n")
	}
	fmt.Fprintf(b, "%*s%s allocated  %s reserved  %s peak allocated  (left to right: events)\n",
		chartIndent+labelWidth, "", s.Solid(), s.Shade(), s.Peak())
}

func seconds(x float64) string {
	switch {
	case x < 1:
		return fmt.Sprintf("%.0f ms", 1000*x)
	case x < 100:
		return fmt.Sprintf("%.1f s", x)
	default:
		return fmt.Sprintf("%.0f s", x)
	}
}

func percent(part, whole uint64) string {
	if whole == 0 {
		return "0 %"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}
