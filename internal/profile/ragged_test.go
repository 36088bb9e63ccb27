// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"snug/internal/simulate"
	"snug/internal/stream"
)

// padded returns the trace of a small encoder whose batches are padded to these lengths, one after another.
func padded(batch int64, lengths ...int64) *stream.Trace {
	var each []any
	for _, n := range lengths {
		each = append(each, float64(n))
	}
	return simulated(map[string]any{
		"model": map[string]any{"config": map[string]any{
			"model_type": "bert", "hidden_size": 64.0, "num_hidden_layers": 2.0, "num_attention_heads": 4.0,
			"intermediate_size": 128.0, "vocab_size": 1000.0,
		}, "head": "masked-lm"},
		"lengths": each, "precision": "amp-bf16", "batch": float64(batch),
	})
}

// watched returns a recording of padded batches as the probe makes it. The time of each event is its index.
func watched(batch int64, data []int64, lengths ...int64) Input {
	in := at(batch, padded(batch, lengths...))
	d := &in.Recording.Devices[0]
	var ends, begins []int64
	for i := range d.Trace.Events {
		d.Times = append(d.Times, int64(i))
		if e := &d.Trace.Events[i]; e.Kind == stream.Mark && e.ID == simulate.Forward {
			begins = append(begins, int64(i))
		}
	}
	ends = append(ends, begins[1:]...)
	ends = append(ends, int64(len(d.Times)))
	in.Recording.Probe = probed(batch, begins, ends, lengths, data)
	return in
}

func probed(batch int64, begins, ends, lengths, data []int64) string {
	ids := func(n, length int64) map[string]any {
		return map[string]any{"ids": map[string]any{"shape": []int64{n, length}}}
	}
	var calls, batches, samples, groups []any
	for i, length := range lengths {
		calls = append(calls, map[string]any{"time": begins[i] + 1, "grad": true, "inputs": ids(batch, length)})
		batches = append(batches, map[string]any{"time": begins[i], "inputs": ids(batch, length)})
	}
	for i, n := range data {
		samples = append(samples, ids(1, n))
		if i%groupOf == groupOf-1 {
			groups = append(groups, ids(groupOf, slices.Max(data[i-groupOf+1:i+1])))
		}
	}
	text, err := json.Marshal(map[string]any{
		"ends": ends, "calls": calls, "batches": batches, "loader": map[string]any{"sampler": "BatchSampler"},
		"ahead": map[string]any{"samples": samples, "groups": groups},
	})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// dataset returns sample lengths.
func dataset() (out []int64) {
	for i := range int64(200) {
		out = append(out, 20+i*i*37%181)
	}
	return out
}

// TestRaggedSteps checks that a padded run at another batch, with given lengths, allocates what the simulator
// allocates.
func TestRaggedSteps(t *testing.T) {
	p := fitted(t, watched(2, dataset(), 40, 77, 61, 93, 50), watched(3, dataset(), 66, 35, 101, 72, 88))
	if !p.Ragged() || len(p.ragged.quantities) == 0 || p.ragged.quantities[0].Column != "data.ids.1" {
		t.Fatalf("quantities %v", p.ragged)
	}
	lengths := []int64{90, 150, 60, 31, 200, 120, 180, 77}
	var run drawn
	for _, n := range lengths {
		var step []int64
		for _, q := range p.ragged.quantities {
			step = append(step, q.of(n))
		}
		run = append(run, step)
	}
	got, err := p.peaksOf([]int64{12}, run, Point{"batch": 12}, 0)
	if err != nil {
		t.Fatal(err)
	}
	want, err := p.play(&p.variants[0], padded(12, lengths...), Point{"batch": 12}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if off := want.PeakAllocated - min(got.PeakAllocated, want.PeakAllocated); off > want.PeakAllocated/100 || got.PeakReserved != want.PeakReserved {
		t.Errorf("got %v, want %v", got, want) // only PeakAllocated may be lower, by the buffers that sums need in large batches only
	}
}

// TestRaggedFile checks that a profile with ragged steps survives writing and reading, and that its interval covers
// runs with other samples.
func TestRaggedFile(t *testing.T) {
	p := fitted(t, watched(2, dataset(), 40, 77, 61, 93, 50), watched(3, dataset(), 66, 35, 101, 72, 88))
	file := saved(t, p)
	q, err := Read(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(saved(t, q), file) {
		t.Error("the profile changes after reading and writing it")
	}
	got, err := q.Predict(Point{"batch": 12})
	if err != nil {
		t.Fatal(err)
	}
	if err := q.WithInterval(got); err != nil {
		t.Fatal(err)
	}
	want, err := p.Predict(Point{"batch": 12})
	if err != nil || got.PeakReserved != want.PeakReserved || got.Interval == nil || got.Interval[0] >= got.PeakReserved || got.Interval[1] <= got.PeakReserved {
		t.Errorf("got %+v, want %+v, %v", got, want, err)
	}
}
