// SPDX-License-Identifier: Apache-2.0

package watch

import "testing"

// TestNothingGrows checks that memory stays bounded in a long run with every kind of event.
func TestNothingGrows(t *testing.T) {
	w := New(Options{})
	for i := range 20_000 {
		util := float64(i % 100)
		w.Add(Event{T: float64(i), Kind: KindGPU, GPU: GPU{Used: 5 << 30, Total: 80 << 30, Util: &util, Procs: []Process{{PID: 1, Used: 4 << 30}}}})
		wait := 0.01
		w.Add(Event{T: float64(i), Kind: KindStep, PID: 1, Step: Step{N: i + 1, Phase: Train, Shape: []int{8, 64 + i%7}, Allocated: 1 << 30, Reserved: 2 << 30, PeakAllocated: 3 << 29, Wait: &wait}})
		w.Add(Event{T: float64(i), Kind: KindNote, Message: "again"})
	}
	p, c := w.procs[1], w.cards[Device{}]
	for what, n := range map[string]int{
		"recent steps": len(p.steps.recent), "thinned steps": len(p.steps.thin), "peaks": len(p.peaks), "seconds": len(p.seconds), "waits": len(p.waits),
		"memory": len(p.memory.recent), "thinned memory": len(p.memory.thin), "curve": len(p.curve.points), "card's curve": len(c.curve.points), "use": len(c.utils),
		"notes": len(w.notes),
	} {
		if n > 2*mostCurve {
			t.Errorf("%s: %d are kept", what, n)
		}
	}
	if last := p.steps.thin[len(p.steps.thin)-1]; p.step-int(last.x) > 2*p.steps.every {
		t.Errorf("the newest of the thinned steps is %g, the newest step %d", last.x, p.step)
	}
}

// TestManyProcesses checks that processes are forgotten after they end.
func TestManyProcesses(t *testing.T) {
	w := New(Options{})
	w.Add(Event{Kind: KindStart})
	for i := range 5000 {
		w.Add(Event{T: float64(i), Kind: KindGPU, GPU: GPU{Used: 5 << 30, Total: 80 << 30, Procs: []Process{{PID: i + 1, Used: 4 << 30}}}})
	}
	if n := len(w.procs); n > 64 {
		t.Errorf("%d processes are kept", n)
	}
}
