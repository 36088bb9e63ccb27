// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"snug/internal/term"
)

// A search that takes longer than patience shows how far it is, on a terminal.
const (
	patience = time.Second
	pace     = 500 * time.Millisecond
)

// waiting is a line on a terminal that says how far a search is. It is replaced as the search goes on, and erased at
// its end.
type waiting struct {
	to   io.Writer
	done atomic.Int64 // runs that were simulated
}

// wait shows the progress of a search on standard error, until end is called. If that is not a terminal, nothing is
// shown.
func (e Env) wait() (w *waiting, end func()) {
	w = &waiting{to: raw(e.Stderr)}
	f, ok := w.to.(*os.File)
	if !ok || !term.Interactive(f) {
		return w, func() {}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for next := patience; ; next = pace {
			select {
			case <-stop:
				if next == pace {
					w.erase()
				}
				return
			case <-time.After(next):
				w.show()
			}
		}
	}()
	return w, func() { close(stop); <-stopped }
}

func (w *waiting) show()  { w.write(fmt.Sprintf("\r\x1b[Ksnug: %d runs simulated", w.done.Load())) }
func (w *waiting) erase() { w.write("\r\x1b[K") }

// write writes to the terminal. Progress that cannot be shown is no reason to stop.
func (w *waiting) write(text string) { _, _ = io.WriteString(w.to, text) }
