// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"math/rand/v2"
	"testing"

	"snug/internal/stream"
)

// trainingTrace returns a stream shaped like training: activations accumulate through the layers and are freed in
// reverse order, with short-lived temporaries throughout.
func trainingTrace(steps, layers int) *stream.Trace {
	r := rand.New(rand.NewPCG(1, 2))
	sizes := []uint64{4, 256, 512, 8192, 12288, 16384, 49152, 73728, 1 << 20, 3 << 20, 12 << 20}
	tr := stream.New(steps * layers * 60)
	size := func() uint64 { return sizes[r.IntN(len(sizes))] }
	brief := func(n int) {
		for range n {
			x, y := tr.Alloc(size(), 0), tr.Alloc(size(), 0)
			tr.Free(x)
			tr.Free(y)
		}
	}
	for range steps {
		var saved [][]uint32
		for range layers {
			var kept []uint32
			for range 8 {
				kept = append(kept, tr.Alloc(size(), 0))
				brief(1)
			}
			saved = append(saved, kept)
		}
		for i := layers - 1; i >= 0; i-- {
			for _, id := range saved[i] {
				brief(1)
				tr.Free(id)
			}
		}
	}
	return tr
}

// holesTrace keeps thousands of free blocks of a few sizes between live ones, which is hard on the free sets.
func holesTrace(blocks, iterations int) *stream.Trace {
	r := rand.New(rand.NewPCG(3, 4))
	tr := stream.New(2*blocks + 2*iterations)
	size := func() uint64 { return uint64(1+r.IntN(8)) * 512 }
	live := make([]uint32, blocks)
	for i := range live {
		live[i] = tr.Alloc(size(), 0)
	}
	r.Shuffle(blocks, func(i, k int) { live[i], live[k] = live[k], live[i] })
	for _, id := range live[blocks/2:] {
		tr.Free(id)
	}
	live = live[:blocks/2]
	for range iterations {
		i := r.IntN(len(live))
		tr.Free(live[i])
		live[i] = tr.Alloc(size(), 0)
	}
	return tr
}

func benchmarkPlay(b *testing.B, tr *stream.Trace, minor int, conf string) {
	b.ReportAllocs()
	for range b.N {
		b.StopTimer()
		a := newAllocator(b, 141<<30, minor, conf)
		b.StartTimer()
		if res, err := a.Play(tr, PlayOptions{}); err != nil || res.OOM != nil {
			b.Fatal(err, res.OOM)
		}
	}
	b.ReportMetric(float64(len(tr.Events))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}

func BenchmarkPlay(b *testing.B) {
	tr := trainingTrace(40, 200)
	b.Run("default", func(b *testing.B) { benchmarkPlay(b, tr, 11, "") })
	b.Run("2.12", func(b *testing.B) { benchmarkPlay(b, tr, 12, "") })
	b.Run("expandable", func(b *testing.B) { benchmarkPlay(b, tr, 11, "expandable_segments:True") })
	b.Run("max_split", func(b *testing.B) { benchmarkPlay(b, tr, 11, "max_split_size_mb:64") })
	b.Run("holes", func(b *testing.B) { benchmarkPlay(b, holesTrace(100_000, 500_000), 11, "") })
}
