// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bytes"
	"fmt"
	"testing"

	"snug/internal/gpu"
	"snug/internal/stream"
)

// longTrace returns a step with many events: a loop over time that keeps its states until backward, as in a recurrent
// model.
func longTrace(steps int, unit uint64) *stream.Trace {
	t := stream.New(8 * steps)
	var kept []uint32
	for i := range steps {
		x := t.Alloc(3*unit+uint64(i%7)*unit, 0)
		y := t.Alloc(2*unit, 0)
		t.Free(x)
		kept = append(kept, y)
		t.Free(t.Alloc(4096, 0))
	}
	for i := len(kept) - 1; i >= 0; i-- {
		g := t.Alloc(2*unit, 0)
		t.Free(kept[i])
		t.Free(g)
	}
	return t
}

// repeated returns a run that repeats a step.
func repeated(step *stream.Trace, times int) *stream.Trace {
	t := stream.New(times * len(step.Events))
	for range times {
		names := map[uint32]uint32{}
		for _, e := range step.Events {
			if e.Kind == stream.Alloc {
				names[e.ID] = t.Alloc(e.Size, e.Queue)
			} else {
				t.Free(names[e.ID])
			}
		}
	}
	return t
}

// million is the number of loop iterations that gives a million events.
const million = 125_000

func BenchmarkFit(b *testing.B) {
	small, large := at(2, longTrace(million, 2*640)), at(3, longTrace(million, 3*640))
	b.ReportMetric(float64(len(large.Recording.Devices[0].Trace.Events)), "events")
	for b.Loop() {
		if _, err := Fit([]Input{small, large}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPredict(b *testing.B) {
	p := fitted(b, at(2, longTrace(million, 2*640)), at(3, longTrace(million, 3*640)))
	for b.Loop() {
		if _, err := p.Predict(Point{"batch": 8}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFile(b *testing.B) {
	p := fitted(b, at(2, longTrace(million, 2*640)), at(3, longTrace(million, 3*640)))
	var file bytes.Buffer
	for b.Loop() {
		file.Reset()
		if err := p.Write(&file); err != nil {
			b.Fatal(err)
		}
		if _, err := Read(&file); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMargin computes the interval at one size for a network with measured convolutions, for the same network as
// if they had not been measured, and for updates that may be skipped.
func BenchmarkMargin(b *testing.B) {
	for _, c := range []struct {
		name, precision string
		strange         bool
	}{{"measured", "", false}, {"guessed", "", true}, {"float16", "amp-fp16", false}} {
		b.Run(c.name, func(b *testing.B) {
			var inputs []Input
			for _, batch := range []int64{4, 6} {
				rec := recorded(b, fmt.Sprintf("timm-regnety_016-b%d-amp-bf16-sgdm-stacks.pickle.gz", batch))
				inputs = append(inputs, Input{Name: c.name, At: Point{"batch": batch}, Recording: rec})
			}
			f := newFitter(inputs)
			f.strange = c.strange
			p, err := f.fit()
			if err != nil {
				b.Fatal(err)
			}
			p.Facts.Precision = c.precision
			at := Point{"batch": 96}
			for b.Loop() {
				if _, err := p.Margin(at, gpu.Card{}, reservedAt(at)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
