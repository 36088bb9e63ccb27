// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// FuzzRecording reads arbitrary input as a recording. Nothing may crash, every reading has a known state, and what
// was read can be written and read again.
func FuzzRecording(f *testing.F) {
	f.Add([]byte(`{"t": 0, "kind": "start", "total": 150109880320, "pid": 772}
{"t": 0, "kind": "limit", "limit": 8589934592}
{"t": 1, "kind": "gpu", "gpu": 0, "used": 648347648, "total": 150754820096, "gpu_util": 37, "procs": [{"pid": 772, "used": 5}, {"pid": 3, "used": 9999999999}]}
{"t": 2, "kind": "step", "pid": 772, "step": 1, "phase": "train", "shape": [8, 256], "allocated": 100, "reserved": 200, "peak_allocated": 150, "peak_reserved": 200, "retries": 0}
{"t": 2, "kind": "step", "pid": 772, "step": 1, "phase": "eval", "shape": [], "allocated": 100}
{"t": 3, "kind": "oom", "message": "CUDA out of memory"}
{"t": 3, "kind": "end"}
`))
	var steps strings.Builder
	for i := range 80 {
		text, _ := json.Marshal(Event{T: float64(i), Kind: KindStep, PID: 1, Step: Step{N: i, Phase: Train, Allocated: int64(i) << 24, Reserved: int64(i) << 25}})
		steps.Write(append(text, '\n'))
	}
	f.Add([]byte(steps.String()))
	f.Add([]byte(`{"t": 0, "kind": "start", "own": true}
{"t": 0, "kind": "start", "total": 150109880320, "pid": 7, "rank": 0, "world": 2}
{"t": 0, "kind": "start", "total": 150109880320, "pid": 8, "rank": 1, "world": 2}
{"t": 1, "kind": "gpu", "gpu": 0, "mig": 1, "used": 648347648, "total": 20754820096, "procs": [{"pid": 7, "used": 5}, {"pid": 8, "used": 9999999999}]}
` + steps.String()))
	f.Add([]byte("\x1f\x8b\x08"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := NewReader(bytes.NewReader(data))
		if err != nil {
			return
		}
		w := New(Options{})
		if len(data)%2 == 0 {
			w.Expect(expectedRun())
		}
		for {
			e, err := r.Next()
			if err != nil {
				break
			}
			got, _ := w.Add(e)
			if got.State == "" || got.Why == "" {
				t.Fatalf("no state after %+v", e)
			}
			text, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			var again Event
			if err := json.Unmarshal(text, &again); err != nil {
				t.Fatalf("%s cannot be read again: %v", text, err)
			}
		}
		if _, err := json.Marshal(w.Now()); err != nil {
			t.Fatal(err)
		}
		w.View()
	})
}
