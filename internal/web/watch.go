// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"snug/internal/files"
	"snug/internal/watch"
	"snug/internal/watch/export"
)

// Live is something that can be watched: this machine's GPUs, or a recording.
type Live struct {
	ID   string // its name in the API
	Name string // shown to the user
	// Speed means that Run can replay at a multiple of the run's own speed.
	Speed bool
	// Run emits events until there are no more or the context ends. Speed 0 means without waiting.
	Run func(ctx context.Context, speed float64, emit func(watch.Event)) error
}

// Replay emits the events of a recording, like live.Replay.
type Replay func(ctx context.Context, r *watch.Reader, speed func() float64, emit func(watch.Event)) error

// ErrAgain is returned by Live.Run if the client should start over: its recording was replaced.
var ErrAgain = errors.New("the recording was replaced")

// liveAnswer is an entry in the list of what can be watched.
type liveAnswer struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Speed bool   `json:"speed"` // whether a speed can be chosen
}

func (s *server) sources(http.ResponseWriter, *http.Request) (any, error) {
	out := []liveAnswer{}
	for _, l := range s.live() {
		out = append(out, liveAnswer{l.ID, l.Name, l.Speed})
	}
	return map[string]any{"sources": out}, nil
}

// live lists what can be watched: what the server was started with, then uploaded recordings.
func (s *server) live() []Live {
	out := append([]Live{}, s.options.Live...)
	s.uploads.mu.Lock()
	defer s.uploads.mu.Unlock()
	for _, u := range s.uploads.recordings {
		out = append(out, Live{ID: u.id, Name: u.id, Speed: true, Run: s.replayOf(u.value)})
	}
	return out
}

// replayOf replays an uploaded recording.
func (s *server) replayOf(data []byte) func(context.Context, float64, func(watch.Event)) error {
	return func(ctx context.Context, speed float64, emit func(watch.Event)) error {
		r, err := watch.NewReader(bytes.NewReader(data))
		if err != nil {
			return err
		}
		return s.options.Replay(ctx, r, func() float64 { return speed }, emit)
	}
}

// recordingAnswer is the answer to an uploaded recording.
type recordingAnswer struct {
	ID     string   `json:"id"`
	Events int      `json:"events"`
	Notes  []string `json:"notes"` // notes about what was skipped
}

func (s *server) uploadRecording(w http.ResponseWriter, r *http.Request) (any, error) {
	if s.options.Replay == nil {
		return nil, &problem{http.StatusNotFound, "this server cannot replay recordings"}
	}
	data, err := files.ReadAll(http.MaxBytesReader(w, r.Body, maxRecording), maxRecording)
	if err != nil {
		return nil, tooLarge(err, maxRecording)
	}
	return s.compute(r, func(ctx context.Context) (any, error) {
		out := recordingAnswer{Notes: []string{}}
		in, err := watch.NewReader(bytes.NewReader(data))
		for err == nil && ctx.Err() == nil {
			if _, err = in.Next(); err == nil {
				out.Events++
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !errors.Is(err, io.EOF) {
			return nil, invalid("this is not a snug watch recording: %w", err)
		}
		out.Notes = append(out.Notes, in.Notes()...)
		out.ID = keep(&s.uploads, &s.uploads.recordings, "recording-", "", data)
		return out, nil
	})
}

// mostSpeed is the largest allowed multiple of a run's speed.
const mostSpeed = 10_000

// watch streams what snug watch would show: readings, as --json prints them, and the data to draw.
func (s *server) watch(_ http.ResponseWriter, r *http.Request) (any, error) {
	speed := 0.0
	if text := r.URL.Query().Get("speed"); text != "" {
		var err error
		if speed, err = strconv.ParseFloat(text, 64); err != nil || !(speed >= 0 && speed <= mostSpeed) {
			return nil, invalid("speed %q: write a number from 0 (without waiting) to %d", text, mostSpeed)
		}
	}
	for _, l := range s.live() {
		if l.ID == r.PathValue("id") {
			return stream(func(ctx context.Context, send sender) error { return follow(ctx, l, speed, send) }), nil
		}
	}
	return nil, &problem{http.StatusNotFound, "there is nothing with this ID to watch; " + API + "/watch lists what can be watched"}
}

// drawn is the minimum interval between views.
const drawn = 250 * time.Millisecond

// follow watches one source for one client.
func follow(ctx context.Context, l Live, speed float64, send sender) error {
	f := &follower{watcher: watch.New(watch.Options{}), send: send}
	f.lines.Write = func(_ io.Writer, r watch.Reading) error { return send("reading", r) }
	done := make(chan struct{})
	var drawing sync.WaitGroup
	drawing.Go(func() {
		t := time.NewTicker(drawn)
		defer t.Stop()
		for {
			select {
			case <-done:
				return
			case <-t.C:
				f.draw()
			}
		}
	})
	err := l.Run(ctx, speed, f.event)
	close(done)
	drawing.Wait()
	f.mu.Lock()
	last := f.lines.Close(f.watcher)
	f.mu.Unlock()
	f.draw()
	return errors.Join(err, last, f.failed)
}

// follower turns events into readings and views.
type follower struct {
	mu      sync.Mutex // one goroutine adds events to the watcher while another draws it
	watcher *watch.Watcher
	lines   export.Lines
	send    sender
	fresh   bool // there are events since the last view
	failed  error
}

func (f *follower) event(e watch.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, changed := f.watcher.Add(e)
	if err := f.lines.Event(e, f.watcher, changed); err != nil && f.failed == nil {
		f.failed = err
	}
	f.fresh = true
}

// draw sends the view if it has changed.
func (f *follower) draw() {
	f.mu.Lock()
	if !f.fresh {
		f.mu.Unlock()
		return
	}
	f.fresh = false
	v := viewOf(f.watcher.View())
	f.mu.Unlock()
	if err := f.send("view", v); err != nil {
		f.mu.Lock()
		f.failed = err
		f.mu.Unlock()
	}
}

// viewAnswer is the data to draw.
type viewAnswer struct {
	T         float64         `json:"t"`
	Ended     bool            `json:"ended"`
	Reading   watch.Reading   `json:"reading"` // the newest reading
	Left      string          `json:"left"`    // the forecast in words, if any
	Cards     []cardView      `json:"cards"`
	Processes []processAnswer `json:"processes"`
	Notes     []string        `json:"notes"`
}

type cardView struct {
	Index  int       `json:"index"`
	Label  string    `json:"label"` // the card, or an instance of it
	Name   string    `json:"name"`
	Used   int64     `json:"used"`
	Total  int64     `json:"total"`
	Util   *float64  `json:"gpu_util,omitempty"`
	Silent bool      `json:"silent"`
	T      []float64 `json:"t"`     // times of the curve's points
	Curve  []float64 `json:"curve"` // bytes in use
}

type processAnswer struct {
	PID       int         `json:"pid"`
	Name      string      `json:"name"`
	GPU       int         `json:"gpu"`
	Used      int64       `json:"used"`
	Watched   bool        `json:"watched"`
	Gone      bool        `json:"gone"`
	State     watch.State `json:"state,omitempty"`
	Why       string      `json:"why,omitempty"`
	Step      int         `json:"step"`
	Seconds   float64     `json:"step_seconds"`
	Capacity  float64     `json:"capacity"`
	Steps     []int       `json:"steps"` // steps of the curves' points
	Allocated []float64   `json:"allocated"`
	Peak      []float64   `json:"peak"`
	Reserved  []float64   `json:"reserved"`
}

func viewOf(v watch.View) viewAnswer {
	out := viewAnswer{T: v.T, Ended: v.Ended, Reading: v.Reading, Left: export.Left(v.Reading), Cards: []cardView{}, Processes: []processAnswer{}, Notes: []string{}}
	for _, c := range v.Cards {
		x := cardView{Index: c.Index, Label: c.Device().String(), Name: c.Name, Used: c.Used, Total: c.Total, Util: c.Util, Silent: c.Silent, T: []float64{}, Curve: []float64{}}
		for _, p := range c.Curve {
			x.T, x.Curve = append(x.T, p.T), append(x.Curve, p.Used)
		}
		out.Cards = append(out.Cards, x)
	}
	for _, p := range v.Processes {
		x := processAnswer{
			PID: p.PID, Name: p.Name, GPU: p.GPU.Index, Used: p.Used, Watched: p.Watched, Gone: p.Gone, State: p.State, Why: p.Reading.Why, Step: p.Step.N,
			Seconds: finite(p.Seconds), Capacity: finite(p.Capacity), Steps: []int{}, Allocated: []float64{}, Peak: []float64{}, Reserved: []float64{},
		}
		for _, s := range p.Curve {
			x.Steps, x.Allocated = append(x.Steps, s.Step), append(x.Allocated, s.Allocated)
			x.Peak, x.Reserved = append(x.Peak, s.Peak), append(x.Reserved, s.Reserved)
		}
		out.Processes = append(out.Processes, x)
	}
	for _, n := range v.Notes {
		out.Notes = append(out.Notes, export.Clock(n.T)+" "+n.Text)
	}
	return out
}

// finite returns x if JSON can represent it, and otherwise 0, which means unknown.
func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}
