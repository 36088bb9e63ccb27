// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// mostStreams is the maximum number of open streams. A browser opens at most six connections to a server.
const mostStreams = 16

// alive is the time without events after which a comment is sent, to detect clients that have disconnected.
const alive = 15 * time.Second

// stream is an answer that sends events until it returns or the context ends.
type stream func(ctx context.Context, send sender) error

// sender writes one event. Its data is one line of JSON, as the command line prints it.
type sender func(event string, data any) error

// serveStream writes server-sent events. Requests from other sites are refused: they could not read the events, but they
// could keep streams open.
func (s *server) serveStream(w http.ResponseWriter, r *http.Request, run stream) {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
	default:
		writeProblem(w, &problem{http.StatusForbidden, "requests from other sites are refused"})
		return
	}
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		writeProblem(w, &problem{http.StatusTooManyRequests, fmt.Sprintf("%d live views are already open; close one of them", mostStreams)})
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	out := &events{w: w, control: http.NewResponseController(w), gone: cancel}
	out.write("retry: 1000\n\n")
	beat := time.NewTicker(alive)
	defer beat.Stop()
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-beat.C:
				out.write(": still here\n\n")
			}
		}
	}()
	err := run(ctx, out.send)
	switch {
	case ctx.Err() != nil, errors.Is(err, ErrAgain): // without a done event, the client reconnects
	case err != nil:
		_ = out.send("problem", map[string]string{"error": err.Error()})
	default:
		_ = out.send("done", struct{}{})
	}
	out.close()
}

// events writes to a client. It is safe for concurrent use.
type events struct {
	mu      sync.Mutex
	w       http.ResponseWriter
	control *http.ResponseController
	gone    func() // called when the client has disconnected
	closed  bool
}

func (e *events) send(event string, data any) error {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(data); err != nil {
		return err
	}
	e.write(fmt.Sprintf("event: %s\ndata: %s\n", event, line.Bytes())) // the line already ends with a newline
	return nil
}

func (e *events) write(text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	_, err := e.w.Write([]byte(text))
	if err == nil {
		err = e.control.Flush()
	}
	if err != nil {
		e.closed = true
		e.gone()
	}
}

// close prevents a late heartbeat from being written to a finished response.
func (e *events) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
}
