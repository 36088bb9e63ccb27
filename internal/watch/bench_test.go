// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"runtime"
	"testing"
)

// node returns one sample of each of eight cards, with a process on each.
func node(t float64) []Event {
	var out []Event
	for i := range 8 {
		util, power := 97.0, 600.0
		out = append(out, Event{T: t, Kind: KindGPU, GPU: GPU{
			Index: i, Name: "NVIDIA H100", Used: int64(60+int64(t)%3) << 30, Total: 80 << 30, Util: &util, Power: &power,
			Procs: []Process{{PID: 100 + i, Used: int64(59+int64(t)%3) << 30, Name: "python"}},
		}})
	}
	return out
}

// BenchmarkNode processes one second of a node with eight GPUs at 1 Hz, each with a process. 1 % of one core is 10
// ms.
func BenchmarkNode(b *testing.B) {
	w := New(Options{})
	w.Add(Event{Kind: KindStart})
	for t := range 2000 { // fill the histories
		for _, e := range node(float64(t)) {
			w.Add(e)
		}
	}
	t := 2000.0
	for b.Loop() {
		for _, e := range node(t) {
			w.Add(e)
		}
		w.View()
		t++
	}
	if spent := b.Elapsed().Seconds() / float64(b.N); spent > 0.01 {
		b.Errorf("a second of eight GPUs takes %.4f s of one core, more than 1 %%", spent)
	}
}

// BenchmarkStep processes one step of a long run.
func BenchmarkStep(b *testing.B) {
	w := New(Options{})
	step := 0
	add := func() {
		step++
		w.Add(Event{T: float64(step), Kind: KindStep, PID: 1, Step: Step{N: step, Phase: Train, Shape: []int{8, 100 + step*7%400}, Allocated: 1 << 30, Reserved: 2 << 30, PeakAllocated: 1<<30 + int64(step*7%400)<<20}})
	}
	for range 3000 {
		add()
	}
	for b.Loop() {
		add()
	}
}

// BenchmarkWeek processes a week of a node at 1 Hz and reports how much memory it grew after its first hour.
func BenchmarkWeek(b *testing.B) {
	for b.Loop() {
		w := New(Options{})
		heap := func() float64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return float64(m.HeapAlloc) / (1 << 20)
		}
		day := 0.0
		for t := range 7 * 24 * 3600 / 30 { // every thirtieth sample: what is kept does not depend on the time between them
			for _, e := range node(float64(30 * t)) {
				w.Add(e)
			}
			if t == 24*3600/30 { // by then the histories are full
				day = heap()
			}
		}
		grown := heap() - day
		b.ReportMetric(grown, "MiB-growth")
		if grown > 1 {
			b.Errorf("memory grew by %.1f MiB", grown)
		}
		runtime.KeepAlive(w)
	}
}
