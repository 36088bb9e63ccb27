// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"snug/internal/watch"
	"snug/internal/watch/export"
	"snug/internal/watch/live"
)

// streamed is an event in a stream.
type streamed struct{ name, data string }

// listen reads a stream until it ends or enough returns true.
func listen(t *testing.T, h http.Handler, path string, enough func(streamed) bool) []streamed {
	t.Helper()
	server := httptest.NewServer(h)
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if kind := answer.Header.Get("Content-Type"); answer.StatusCode != 200 || kind != "text/event-stream" {
		t.Fatalf("status %d, %s", answer.StatusCode, kind)
	}
	var out []streamed
	name := ""
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			name = text
		}
		if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			out = append(out, streamed{name, text})
			if enough != nil && enough(out[len(out)-1]) {
				break
			}
		}
	}
	return out
}

// printed returns what snug watch --replay --json prints for a recording.
func printed(t *testing.T, data []byte) []string {
	t.Helper()
	var out bytes.Buffer
	w, lines := watch.New(watch.Options{}), &export.Lines{Out: &out, Write: export.JSON}
	r, err := watch.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if err := live.Replay(t.Context(), r, func() float64 { return 0 }, func(e watch.Event) {
		_, changed := w.Add(e)
		if err := lines.Event(e, w, changed); err != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := lines.Close(w); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(out.String()), "\n")
}

// TestWatchSaysWhatTheCommandSays checks that the stream of every recording has the lines of snug watch --json and a
// curve.
func TestWatchSaysWhatTheCommandSays(t *testing.T) {
	recordings, err := filepath.Glob("../../testdata/watch/*.jsonl.gz")
	if err != nil || len(recordings) < 10 {
		t.Fatalf("%d recordings, %v", len(recordings), err)
	}
	for _, path := range recordings {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		h := New(Options{Replay: live.Replay})
		status, a := send(t, h, "POST", API+"/recordings", string(data))
		if status != http.StatusOK || a["events"].(float64) < 10 {
			t.Fatalf("%s: status %d, %v", path, status, a)
		}
		var readings []string
		var last streamed
		drawn := 0
		all := listen(t, h, API+"/watch/"+a["id"].(string), nil)
		for _, e := range all {
			switch e.name {
			case "reading":
				readings = append(readings, e.data)
			case "view":
				last = e
				drawn++
			}
		}
		if diff := cmp.Diff(printed(t, data), readings); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
		var v viewAnswer
		if err := json.Unmarshal([]byte(last.data), &v); err != nil || drawn == 0 {
			t.Fatalf("%s: %d views, %v", path, drawn, err)
		}
		if len(v.Processes) == 0 || len(v.Processes[0].Steps)+len(v.Cards) == 0 {
			t.Errorf("%s: the view has nothing to draw: %+v", path, v)
		}
		if all[len(all)-1].name != "done" {
			t.Errorf("%s: the last event is %v", path, all[len(all)-1])
		}
	}
}

// TestWatchRefuses checks the errors for invalid requests and for a failing source.
func TestWatchRefuses(t *testing.T) {
	failing := Live{ID: "gpus", Name: "x", Run: func(context.Context, float64, func(watch.Event)) error { return errors.New("no driver") }}
	h := New(Options{Replay: live.Replay, Live: []Live{failing}})
	for _, c := range []struct {
		method, path, body string
		headers            []string
		status             int
	}{
		{"GET", "/watch/other", "", nil, 404},
		{"GET", "/watch/gpus?speed=fast", "", nil, 400},
		{"GET", "/watch/gpus?speed=-1", "", nil, 400},
		{"GET", "/watch/gpus", "", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"POST", "/recordings", "hello", nil, 400},
		{"POST", "/recordings", "", nil, 400},
	} {
		if status, a := send(t, h, c.method, API+c.path, c.body, c.headers...); status != c.status || a["error"] == nil {
			t.Errorf("%s %s: status %d, %v", c.method, c.path, status, a)
		}
	}
	if got := listen(t, h, API+"/watch/gpus", nil); len(got) != 1 || got[0] != (streamed{"problem", `{"error":"no driver"}`}) {
		t.Errorf("%v", got)
	}
}

// TestStreamsAreBounded checks that the number of open streams is limited.
func TestStreamsAreBounded(t *testing.T) {
	s := &server{streams: make(chan struct{}, mostStreams)}
	for range mostStreams {
		s.streams <- struct{}{}
	}
	w := httptest.NewRecorder()
	s.serveStream(w, httptest.NewRequest("GET", "/", nil), func(context.Context, sender) error { return nil })
	if w.Code != http.StatusTooManyRequests {
		t.Errorf("status %d", w.Code)
	}
}

// TestTunes checks that the list is sent at once, and again when it changes.
func TestTunes(t *testing.T) {
	asked := 0
	h := New(Options{Tunes: func() ([]Tune, error) {
		asked++
		return []Tune{{ID: "a", At: 1, Running: asked < 3, Report: json.RawMessage(`{"trials":[]}`)}}, nil
	}})
	got := listen(t, h, API+"/tunes/events", func(e streamed) bool { return strings.Contains(e.data, `"running":false`) })
	want := []streamed{
		{"tunes", `{"tunes":[{"id":"a","at":1,"running":true,"report":{"trials":[]}}]}`},
		{"tunes", `{"tunes":[{"id":"a","at":1,"running":false,"report":{"trials":[]}}]}`},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(streamed{})); diff != "" {
		t.Error(diff)
	}
	if _, a := send(t, h, "GET", API+"/tunes", ""); len(a["tunes"].([]any)) != 1 {
		t.Errorf("%v", a)
	}
	bad := New(Options{Tunes: func() ([]Tune, error) { return nil, errors.New("the store is broken") }})
	if status, a := send(t, bad, "GET", API+"/tunes", ""); status != 422 || a["error"] != "the store is broken" {
		t.Errorf("status %d, %v", status, a)
	}
}
