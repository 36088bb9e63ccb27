// SPDX-License-Identifier: Apache-2.0

package export

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"snug/internal/watch"
)

// TensorBoard writes scalars for TensorBoard: the memory of each step, and card samples at the current step, or at
// the current second if no process reports steps.
type TensorBoard struct {
	Out   io.WriteCloser // the file
	Name  string         // name of the file, for messages
	Start float64        // when watching began, in seconds since 1970
	Warn  func(string)   // shows a warning to the user

	begun, fails bool
	file         eventFile
}

// Event writes the scalars of a sample or a step.
func (t *TensorBoard) Event(e watch.Event, w *watch.Watcher, _ bool) error {
	if t.fails { // what follows a record that was partly written could not be read
		return nil
	}
	if !t.begun {
		t.begun, t.file = true, eventFile{t.Out}
		t.check(t.file.begin(t.Start))
	}
	step := int64(w.Now().Step)
	switch e.Kind {
	case watch.KindStep:
		if e.Step.Phase == watch.Train {
			t.check(t.file.add(t.Start+e.T, int64(e.Step.N), stepScalars(e.Step, w.Now())))
		}
	case watch.KindGPU:
		if step == 0 {
			step = int64(e.T)
		}
		t.check(t.file.add(t.Start+e.T, step, gpuScalars(e.GPU)))
	}
	return nil
}

func stepScalars(s watch.Step, r watch.Reading) []scalar {
	out := []scalar{
		{"snug/allocated_bytes", float64(s.Allocated)}, {"snug/reserved_bytes", float64(s.Reserved)},
		{"snug/peak_allocated_bytes", float64(s.PeakAllocated)}, {"snug/peak_reserved_bytes", float64(s.PeakReserved)},
		{"snug/alloc_retries", float64(s.Retries)}, {"snug/state", float64(slices.Index(watch.States, r.State))},
	}
	if r.StepsToOOM != nil {
		out = append(out, scalar{"snug/steps_to_oom", float64(r.StepsToOOM[1])})
	}
	return out
}

func gpuScalars(g watch.GPU) []scalar {
	name := fmt.Sprintf("snug/gpu%s/", strings.ReplaceAll(g.Device().Number(), ":", "mig"))
	out := []scalar{{name + "memory_used_bytes", float64(g.Used)}}
	for _, x := range []struct {
		tag   string
		value *float64
	}{{"utilization_percent", g.Util}, {"power_watts", g.Power}, {"temperature_celsius", g.Temperature}} {
		if x.value != nil {
			out = append(out, scalar{name + x.tag, *x.value})
		}
	}
	return out
}

// check warns once that the file cannot be written.
func (t *TensorBoard) check(err error) {
	if err != nil && !t.fails {
		t.fails = true
		t.Warn(fmt.Sprintf("writing %s: %v; watching continues without it", t.Name, cause(err)))
	}
}

// Close closes the file.
func (t *TensorBoard) Close(*watch.Watcher) error {
	if err := t.Out.Close(); err != nil {
		return fmt.Errorf("closing %s: %w", t.Name, err)
	}
	return nil
}
