// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"fmt"
	"strings"

	"snug/internal/snapshot"
)

// Moment describes an event for display.
type Moment struct {
	Event   int     // -1 means before the recording
	Seconds float64 // since the first event
	Timed   bool    // whether the recording has times
	Phase   string  // what the program was doing, if the recording shows it
}

// MomentOf describes an event of a device.
func MomentOf(rec *snapshot.Recording, d *snapshot.Device, event int) Moment {
	m := Moment{Event: event}
	if event < 0 || event >= len(d.Trace.Events) {
		return m
	}
	if d.Times != nil {
		m.Timed = true
		m.Seconds = float64(d.Times[event]-d.Times[0]) / 1e6
		m.Phase = phaseFromAnnotations(rec.Annotations, d.Index, d.Times[event])
	}
	if d.Stacks != nil {
		if p := phaseFromStack(rec, d.Stacks[event]); p != "" {
			m.Phase = p
		}
	}
	return m
}

// stepPrefix is the start of the annotation that PyTorch puts around every optimizer step.
const stepPrefix = "Optimizer.step#"

// phaseFromAnnotations returns the phase at a time, based on the optimizer steps around it.
func phaseFromAnnotations(as []snapshot.Annotation, device int, at int64) string {
	steps, inside := 0, false
	for _, a := range as {
		if a.Device != device || !strings.HasPrefix(a.Name, stepPrefix) {
			continue
		}
		if a.Time > at {
			break
		}
		if inside = a.Start; a.Start {
			steps++
		}
	}
	switch {
	case inside:
		return fmt.Sprintf("in optimizer step %d", steps)
	case steps > 0:
		return fmt.Sprintf("after optimizer step %d", steps)
	case hasSteps(as):
		return "before the first optimizer step"
	}
	return ""
}

func hasSteps(as []snapshot.Annotation) bool {
	for _, a := range as {
		if strings.HasPrefix(a.Name, stepPrefix) {
			return true
		}
	}
	return false
}

// phaseFromStack returns the phase that a stack shows, by a function that only one phase has. Backward comes first,
// because a recomputed forward runs inside it. If stacks were recorded, an event without one comes from a thread
// without Python: autograd's.
func phaseFromStack(rec *snapshot.Recording, stack uint32) string {
	if len(rec.Stacks[stack]) == 0 {
		return "in backward"
	}
	found := ""
	for _, id := range rec.Stacks[stack] {
		f := rec.Frames[id]
		switch {
		case f.Name == "backward" && strings.Contains(f.File, "torch"):
			return "in backward"
		case f.Name == "step" && strings.Contains(f.File, "optim"):
			return "in the optimizer step"
		case f.Name == "_call_impl":
			found = "in forward"
		}
	}
	return found
}
