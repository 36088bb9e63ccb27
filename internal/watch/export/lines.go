// SPDX-License-Identifier: Apache-2.0

package export

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"snug/internal/watch"
)

// Lines writes a line when the state changes, after every few steps, and at the end.
type Lines struct {
	Out   io.Writer                            // where lines go
	Every int                                  // steps between lines; 0 means a line only when the state changes
	Write func(io.Writer, watch.Reading) error // formats a line

	Once bool // omits a last line that says the same as the one before

	next  int  // the step of the next line
	ended bool // the last event had a line
	last  watch.Reading
}

// Event writes a line if one is due.
func (l *Lines) Event(e watch.Event, w *watch.Watcher, changed bool) error {
	r := w.Now()
	due := false
	if l.Every > 0 && e.Kind == watch.KindStep && e.Step.Phase == watch.Train && r.Step >= l.next {
		due = l.next > 0 || r.Step%l.Every == 0
		l.next = (r.Step/l.Every + 1) * l.Every
	}
	l.ended = changed || due
	if !l.ended {
		return nil
	}
	l.last = r
	return l.Write(l.Out, r)
}

// Close writes the last line.
func (l *Lines) Close(w *watch.Watcher) error {
	now := w.Now()
	said := l.Once && now.State == l.last.State && now.Step == l.last.Step && now.Why == l.last.Why
	if l.ended || said || now.State == "" {
		return nil
	}
	return l.Write(l.Out, w.Now())
}

// JSON writes a reading as one line of JSON.
func JSON(out io.Writer, r watch.Reading) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	return enc.Encode(r)
}

// Plain writes a reading as one line of text.
func Plain(out io.Writer, r watch.Reading) error {
	_, err := io.WriteString(out, PlainLine(r)+"\n")
	return err
}

// PlainLine returns a reading as one line of text.
func PlainLine(r watch.Reading) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%8s", Clock(r.T))
	if r.Step > 0 {
		fmt.Fprintf(&b, "  step %d", r.Step)
	}
	if r.PID > 0 {
		fmt.Fprintf(&b, "  process %d", r.PID)
	}
	fmt.Fprintf(&b, "  %s: %s", r.State, r.Why)
	if left := Left(r); left != "" {
		fmt.Fprintf(&b, "; %s", left)
	}
	if r.Advice != "" {
		fmt.Fprintf(&b, ". %s%s", strings.ToUpper(r.Advice[:1]), r.Advice[1:])
	}
	return b.String()
}

// Left describes how long memory will last; "" if that is unknown.
func Left(r watch.Reading) string {
	if all := LeftInWords(r); len(all) > 0 {
		return all[0]
	}
	return ""
}

// LeftInWords describes how long memory will last in ever fewer words; nil if that is unknown.
func LeftInWords(r watch.Reading) (out []string) {
	steps, seconds := r.StepsToOOM, r.SecondsToOOM
	if steps == nil && seconds == nil {
		return nil
	}
	if steps == nil {
		return []string{
			fmt.Sprintf("out of memory in %s to %s", Span(seconds[0]), Span(seconds[2])),
			fmt.Sprintf("OOM in %s", Span(seconds[1])),
		}
	}
	out = []string{
		fmt.Sprintf("out of memory in %d to %d steps, probably %d", steps[0], steps[2], steps[1]),
		fmt.Sprintf("out of memory in %d to %d steps", steps[0], steps[2]),
		fmt.Sprintf("OOM in %d steps", steps[1]),
	}
	if seconds != nil {
		out = append([]string{fmt.Sprintf("%s (%s)", out[0], Span(seconds[1]))}, out...)
	}
	return out
}

// Clock formats the time since the start: 0:07, 12:30, 1:02:03.
func Clock(seconds float64) string {
	s := int(max(0, seconds))
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// Span formats a duration: 12 s, 5 min, 3.2 h, 2.1 days.
func Span(seconds float64) string {
	switch {
	case seconds < 120:
		return fmt.Sprintf("%.0f s", seconds)
	case seconds < 7200:
		return fmt.Sprintf("%.0f min", seconds/60)
	case seconds < 48*3600:
		return fmt.Sprintf("%.1f h", seconds/3600)
	}
	return fmt.Sprintf("%.1f days", seconds/86400)
}
