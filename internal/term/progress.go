// SPDX-License-Identifier: Apache-2.0

package term

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// Progress writes the status and the elapsed time to a terminal at each tick, overwriting its previous line. It
// erases the line when stop is closed. Without a tick nothing is written.
func (s Screen) Progress(out io.Writer, status func() string, ticks <-chan time.Time, stop <-chan struct{}) {
	began, shown := time.Time{}, 0
	for {
		select {
		case now := <-ticks:
			if began.IsZero() {
				began = now.Add(-tick)
			}
			line := s.Cut(fmt.Sprintf("%s: %d s", status(), int(now.Sub(began).Round(time.Second)/time.Second)), s.Width-1)
			width := utf8.RuneCountInString(line)
			_, _ = io.WriteString(out, "\r"+line+strings.Repeat(" ", max(shown-width, 0)))
			shown = width
		case <-stop:
			if shown > 0 {
				_, _ = io.WriteString(out, "\r"+strings.Repeat(" ", shown)+"\r")
			}
			return
		}
	}
}

// tick is the time between updates by Progress.
const tick = time.Second

// Ticker returns the ticks for Progress.
func Ticker() *time.Ticker { return time.NewTicker(tick) }
