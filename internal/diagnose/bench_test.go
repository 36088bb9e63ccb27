// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"snug/internal/snapshot"
	"snug/internal/stream"
)

// BenchmarkSnapshot reads and diagnoses a recording of 1.4 million entries, without stacks.
func BenchmarkSnapshot(b *testing.B) {
	in, err := os.Open("../../testdata/measured/traces/hilbert-b1-s8192-amp-bf16-adamw.pickle.gz")
	if err != nil {
		b.Skip(err)
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		b.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(plain)))
	events := 0
	for b.Loop() {
		rec, err := snapshot.Read(bytes.NewReader(plain))
		if err != nil {
			b.Fatal(err)
		}
		d := rec.Busiest()
		events = d.Entries
		Judge(Evidence{Recorded: ReadRecording(rec, d)})
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/float64(events)*1e6, "s/million-entries")
}

// BenchmarkMillionEvents diagnoses recordings with stacks and a failed request, lengthened to a million events: one
// with a leak, and a fragmented one, which is replayed.
func BenchmarkMillionEvents(b *testing.B) {
	for _, name := range []string{"outputs_kept", "ragged"} {
		b.Run(name, func(b *testing.B) {
			f, err := os.Open(filepath.Join(oomData, name+".pickle.gz"))
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			rec, err := snapshot.Read(f)
			if err != nil {
				b.Fatal(err)
			}
			d := lengthened(rec.Busiest(), 1_000_000)
			b.ResetTimer()
			for b.Loop() {
				Judge(Evidence{Recorded: ReadRecording(rec, d)})
			}
		})
	}
}

// lengthened prepends allocations that are freed at once to a recording, with the recording's own stacks and sizes.
func lengthened(d *snapshot.Device, n int) *snapshot.Device {
	out := *d
	trace := stream.Trace{Queues: d.Trace.Queues, Initial: d.Trace.Initial}
	stacks, next := []uint32{}, d.Trace.Initial
	for i := 0; len(trace.Events)+len(d.Trace.Events) < n; i = (i + 1) % len(d.Trace.Events) {
		e := d.Trace.Events[i]
		if e.Kind != stream.Alloc || e.Size > 1<<20 {
			continue
		}
		e.ID = next
		next++
		trace.Events = append(trace.Events, e, stream.Event{Kind: stream.Free, ID: e.ID})
		stacks = append(stacks, d.Stacks[i], d.Stacks[i])
	}
	shift := next - d.Trace.Initial
	for i, e := range d.Trace.Events {
		if e.Kind != stream.Mark && e.ID >= d.Trace.Initial {
			e.ID += shift
		}
		trace.Events, stacks = append(trace.Events, e), append(stacks, d.Stacks[i])
	}
	addresses := append([]uint64(nil), d.Addresses[:min(len(d.Addresses), int(d.Trace.Initial))]...)
	addresses = append(addresses, make([]uint64, shift)...)
	out.Trace, out.Stacks, out.Times = &trace, stacks, nil
	out.Addresses = append(addresses, d.Addresses[min(len(d.Addresses), int(d.Trace.Initial)):]...)
	out.OOMs = append([]snapshot.OOM(nil), d.OOMs...)
	for i := range out.OOMs {
		out.OOMs[i].Event += len(trace.Events) - len(d.Trace.Events)
	}
	return &out
}

// BenchmarkReadLog reads 200,000 lines of a training log that ends in a traceback.
func BenchmarkReadLog(b *testing.B) {
	var log strings.Builder
	for i := range 200_000 {
		switch i % 4 {
		case 0:
			fmt.Fprintf(&log, "2025-03-02 10:%02d:%02d,112 INFO trainer: step %d/90000 | loss %.4f | lr 1.2e-05 | grad_norm 0.81 | mem 31.2GiB\n", i/60%60, i%60, i, 2.5)
		case 1:
			fmt.Fprintf(&log, "[rank%d]: some line of a library that says nothing about memory or steps at all\n", i%8)
		case 2:
			fmt.Fprintf(&log, "Epoch 3:  17%%|█▋        | %d/52002 [01:10<05:42, 126.3it/s, loss=2.31]\n", i%52002)
		default:
			log.WriteString("  File \"/opt/venv/lib/python3.12/site-packages/torch/nn/modules/module.py\", line 1784, in _call_impl\n")
		}
	}
	log.WriteString("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 1.00 GiB of which 0 bytes is free.\n")
	b.SetBytes(int64(log.Len()))
	for b.Loop() {
		if l, err := ReadLog(strings.NewReader(log.String())); err != nil || len(l.Messages) != 1 {
			b.Fatal(err)
		}
	}
}
