// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"context"
	"net/http"

	"snug/internal/diagnose"
	"snug/internal/replay"
	"snug/internal/snapshot"
)

// snapshotAnswer is what a snapshot shows. Page is the address of its drawings: timeline, flame graph, map.
type snapshotAnswer struct {
	ID        string        `json:"id"`
	Page      string        `json:"page"`
	Verdict   diagnose.Code `json:"verdict"`
	Title     string        `json:"title"`
	Why       string        `json:"why"`
	Where     string        `json:"where,omitempty"`
	Fixes     []string      `json:"fixes"`
	Events    int           `json:"events"`
	Allocated uint64        `json:"allocated"` // bytes at the end of the recording
	Reserved  uint64        `json:"reserved"`
}

func (s *server) uploadSnapshot(w http.ResponseWriter, r *http.Request) (any, error) {
	body := http.MaxBytesReader(w, r.Body, maxSnapshot)
	return s.compute(r, func(context.Context) (any, error) {
		rec, err := snapshot.Read(body)
		if err != nil {
			return nil, tooLarge(err, maxSnapshot)
		}
		if rec.Busiest() == nil {
			return nil, invalid("the snapshot contains no GPU")
		}
		return whatShows(keep(&s.uploads, &s.uploads.snapshots, "snapshot-", "", rec), rec), nil
	})
}

// snapshot answers for a snapshot that was uploaded earlier, so that a link to it works.
func (s *server) snapshot(_ http.ResponseWriter, r *http.Request) (any, error) {
	id := r.PathValue("id")
	rec, ok := found(&s.uploads, &s.uploads.snapshots, id)
	if !ok {
		return nil, errForgotten
	}
	return s.compute(r, func(context.Context) (any, error) { return whatShows(id, rec), nil })
}

var errForgotten = &problem{http.StatusNotFound, "this snapshot is no longer stored; upload it again"}

func whatShows(id string, rec *snapshot.Recording) snapshotAnswer {
	device := rec.Busiest()
	seen := diagnose.ReadRecording(rec, device)
	v := diagnose.Judge(diagnose.Evidence{Recorded: seen})
	out := snapshotAnswer{
		ID: id, Page: "/snapshots/" + id, Verdict: v.Code, Title: v.Code.Title(), Why: v.Why, Where: v.Where, Fixes: []string{},
		Events: len(device.Trace.Events), Allocated: seen.Allocated, Reserved: seen.Reserved,
	}
	for _, f := range v.Fixes {
		out.Fixes = append(out.Fixes, f.Text())
	}
	return out
}

// snapshotPage serves the drawings of a snapshot, as written by snug diagnose --html. The page has an inline script,
// so it gets its own content security policy, and a sandbox that keeps the script away from the API.
func (s *server) snapshotPage(w http.ResponseWriter, r *http.Request) {
	rec, ok := found(&s.uploads, &s.uploads.snapshots, r.PathValue("id"))
	if !ok {
		writeProblem(w, errForgotten)
		return
	}
	seen := diagnose.ReadRecording(rec, rec.Busiest())
	var page bytes.Buffer
	if err := diagnose.WritePage(&page, diagnose.Judge(diagnose.Evidence{Recorded: seen}), seen); err != nil {
		writeProblem(w, &problem{http.StatusInternalServerError, err.Error()})
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'")
	h.Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(page.Bytes()) // the client may be gone
}

// replayAnswer is a replay with one allocator setting, or with all settings worth trying.
type replayAnswer struct {
	Outcomes []outcome `json:"outcomes"` // best first
}

type outcome struct {
	Conf          string `json:"conf"`
	PeakAllocated uint64 `json:"peak_allocated"`
	PeakReserved  uint64 `json:"peak_reserved"`
}

func (s *server) replay(_ http.ResponseWriter, r *http.Request) (any, error) {
	rec, ok := found(&s.uploads, &s.uploads.snapshots, r.PathValue("id"))
	if !ok {
		return nil, errForgotten
	}
	return s.compute(r, func(ctx context.Context) (any, error) {
		o, out := replay.Options{Stop: ctx.Err}, replayAnswer{Outcomes: []outcome{}}
		if r.URL.Query().Has("conf") {
			conf := r.URL.Query().Get("conf")
			o.Conf = &conf
			res, err := replay.Run(rec, rec.Busiest(), o)
			if err != nil {
				return nil, err
			}
			out.Outcomes = append(out.Outcomes, outcome{conf, res.PeakAllocated, res.PeakReserved})
			return out, nil
		}
		all, err := replay.Compare(rec, rec.Busiest(), o)
		for _, x := range all {
			out.Outcomes = append(out.Outcomes, outcome{x.Conf, x.PeakAllocated, x.PeakReserved})
		}
		return out, err
	})
}
