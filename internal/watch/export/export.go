// SPDX-License-Identifier: Apache-2.0

// Package export writes readings for people and programs: lines of JSON or text, recordings, CSV, TensorBoard event
// files, a Prometheus endpoint, and commands that run when the state changes.
//
//	lines.go        --json and --plain
//	record.go       --record
//	csv.go          --csv
//	tensorboard.go  --tensorboard, with events.go, which writes the file format
//	prometheus.go   --prometheus
//	hooks.go        --on and --notify
package export

import (
	"errors"
	"io/fs"

	"snug/internal/watch"
)

// Sink receives events, one at a time.
type Sink interface {
	// Event is called after the Watcher has processed an event; changed reports whether its state changed.
	Event(e watch.Event, w *watch.Watcher, changed bool) error
	// Close is called at the end.
	Close(w *watch.Watcher) error
}

// cause returns an error without its operation and path, which the message already contains.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
