// SPDX-License-Identifier: Apache-2.0

package export

import (
	"encoding/json"
	"fmt"
	"io"

	"snug/internal/watch"
)

// Record writes a recording: each event as one line, immediately, so that little is lost if snug is killed. If the
// disk is full, it warns once and retries with every event; a note counts the lines that could not be written.
type Record struct {
	Out  io.WriteCloser    // the file
	Name string            // name of the file, for messages
	Warn func(text string) // shows a warning to the user

	lost   int
	failed bool
	half   bool // a line was partly written
}

// Event writes the event.
func (r *Record) Event(e watch.Event, _ *watch.Watcher, _ bool) error {
	text, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("writing %s: %w", r.Name, err)
	}
	r.write(e, append(text, '\n'))
	return nil
}

func (r *Record) write(e watch.Event, text []byte) {
	if r.lost > 0 {
		note, err := json.Marshal(watch.Event{T: e.T, Kind: watch.KindNote, Message: fmt.Sprintf("%d lines could not be written", r.lost)})
		if err == nil {
			text = append(append(note, '\n'), text...)
		}
	}
	if r.half {
		text = append([]byte{'\n'}, text...)
	}
	n, err := r.Out.Write(text)
	if err == nil {
		r.lost, r.half = 0, false
		if r.failed {
			r.failed = false
			r.Warn(fmt.Sprintf("%s can be written again", r.Name))
		}
		return
	}
	r.half = r.half && n == 0 || n > 0
	r.lost++
	if !r.failed {
		r.failed = true
		r.Warn(fmt.Sprintf("writing %s: %v; watching continues, and missing lines are counted", r.Name, cause(err)))
	}
}

// Close closes the file.
func (r *Record) Close(*watch.Watcher) error {
	if err := r.Out.Close(); err != nil {
		return fmt.Errorf("closing %s: %w", r.Name, err)
	}
	if r.lost > 0 {
		r.Warn(fmt.Sprintf("%d lines of %s were lost", r.lost, r.Name))
	}
	return nil
}
