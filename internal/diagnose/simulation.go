// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"snug/internal/units"
)

// Simulation is what a simulation of the failed run shows.
type Simulation struct {
	Fits     bool   // whether the run fits
	Needs    uint64 // bytes on the card, or with a limit, bytes that PyTorch reserves
	Most     uint64 // the upper bound of Needs
	Has      uint64 // bytes that the run may use
	Tensors  uint64 // the most bytes in tensors
	Loading  uint64 // the most bytes in tensors while the model is loaded
	Searched bool   // whether changes that make the run fit were looked for
	Fixes    []Fix  // the changes found
	Estimate string // the command that repeats the simulation
	Optimize string // the command that plans the run
	Lengths  string // the command that simulates the run with lengths from a file
	Logits   bool   // whether the simulated run requests the same size for logits
	Settings string // where the run's settings are from: "the settings of train.py"
	Guessed  bool   // whether the settings were found without a hint in the log, so that they may be another run's
	Kept     *Kept  // what the script keeps from step to step; nil if nothing is known
}

// Kept is memory that a script keeps from step to step, judging by its source.
type Kept struct {
	Where string // train.py:17; "" if the line is unknown
	Code  string // the line
	Bytes uint64 // per step; 0 if unknown
	File  string // the script, for snug lint
}

// String describes what is kept.
func (k *Kept) String() string {
	text := "a tensor from every step"
	if k.Bytes > 0 {
		text = fmt.Sprintf("%v more with every step", units.Bytes(k.Bytes))
	}
	if k.Where == "" {
		return "the script keeps " + text
	}
	return fmt.Sprintf("%s keeps %s (%s)", k.Where, text, k.Code)
}

// Simulated adjusts the verdict to a simulation of the run, so that the two agree.
func (v *Verdict) Simulated(s Simulation) {
	v.complete(s)
	switch {
	case v.Code == Loading && s.Loading <= s.Has:
		v.differs(s, "the model", units.Bytes(s.Loading))
	case !s.Fits && (v.Code == Evaluation || v.Code == LongBatch):
		v.trained(s)
	case !s.Fits:
		v.tooBig(s)
	case v.sizeOnly() && s.Kept != nil && !v.alone():
		v.Why = fmt.Sprintf("with %s, the first steps take %s in simulation, which fits, but %v", s.Settings, s.figures(), s.Kept)
		v.leaks(s.Kept, s.confidence())
	case s.Most > s.Has:
		v.Why += fmt.Sprintf("; with %s, the run takes %s in simulation, which is too close to tell", s.Settings, s.figures())
	case v.Code == Evaluation || v.Code == LongBatch:
		v.Why += fmt.Sprintf("; with %s, a training step takes %s in simulation, which fits", s.Settings, s.figures())
	default:
		v.differs(s, "the run", units.Bytes(s.Needs))
	}
}

// trained adds to the verdict that the simulated run is not the one that failed, because the failed run had already
// trained.
func (v *Verdict) trained(s Simulation) {
	v.Why += fmt.Sprintf("; with %s, a training step takes %s in simulation, which does not fit, so the earlier steps had other settings", s.Settings, s.figures())
	if v.Code == LongBatch {
		v.Fixes = append(s.Fixes, v.Fixes...)
	}
}

// Keeps adjusts the verdict on a run that was not simulated to what its script keeps.
func (v *Verdict) Keeps(k *Kept) {
	switch {
	case !v.sizeOnly() || v.alone():
	case v.Code == LongBatch:
		v.Why = "several steps succeeded before this one, and " + k.String()
		v.leaks(k, Likely)
	default:
		v.Why += "; also, " + k.String()
		v.Fixes = append([]Fix{k.fix()}, v.Fixes...)
	}
}

// sizeOnly reports whether a verdict about the run's size is only based on figures, so that a leak would explain them
// as well. A snapshot would show the leak.
func (v *Verdict) sizeOnly() bool {
	return len(v.Holders) == 0 && (v.Code == TooBig || v.Code == LogitsTooBig || v.Code == LongBatch && v.Confidence == Possible)
}

// alone reports whether the failed request is larger than the card by itself.
func (v *Verdict) alone() bool { return v.Message.alone() }

// alone reports whether a request is larger than all memory that the process may use.
func (m *Message) alone() bool { return m.room() > 0 && m.Tried > m.room() }

// room returns the memory that the process may use: the card's, or its limit.
func (m *Message) room() uint64 {
	if m.Limit > 0 && (m.Total == 0 || m.Limit < m.Total) {
		return m.Limit
	}
	return m.Total
}

// leaks makes a leak the cause.
func (v *Verdict) leaks(k *Kept, c Confidence) {
	v.Code, v.Confidence = Leak, c
	if k.Where != "" {
		v.Where = k.Where
	}
	if k.Bytes > 0 && k.Where != "" {
		v.Growth = &Growth{BytesPerStep: k.Bytes, Where: v.Where}
	}
	v.Fixes = []Fix{k.fix(), {Change: "see what the script keeps", Command: strings.TrimSpace("snug lint " + k.File)}}
}

func (k *Kept) fix() Fix {
	if k.Where == "" {
		return Fix{Change: keepNumbers}
	}
	return Fix{Change: fmt.Sprintf("at %s, %s", k.Where, keepNumbers)}
}

// tooBig puts first the changes that make the run fit. They replace the general advice, because the simulation
// already tried it.
func (v *Verdict) tooBig(s Simulation) {
	if !s.Searched {
		return
	}
	if s.Logits && v.alone() && v.Code == TooBig {
		v.Code = LogitsTooBig
		v.Why += fmt.Sprintf("; with %s, the logits (batch × length × vocabulary) have this size", s.Settings)
		if !slices.ContainsFunc(s.Fixes, func(f Fix) bool { return strings.Contains(f.Change, "--loss ") }) {
			v.Fixes = append([]Fix{{Change: chunkLoss}}, v.Fixes...)
		}
	}
	if len(s.Fixes) == 0 {
		v.Why += fmt.Sprintf("; with %s, the run takes %s in simulation, and none of the changes that snug can simulate makes it fit, alone or together", s.Settings, s.figures())
	}
	v.Fixes = append(s.Fixes, slices.DeleteFunc(v.Fixes, func(f Fix) bool {
		return f.general || f.plans && len(s.Fixes) == 0
	})...)
}

// differs lowers the confidence, because the simulated run would have fit, and describes how the failed run may
// differ.
func (v *Verdict) differs(s Simulation, what string, takes units.Bytes) {
	seen, because, m := "", "had other settings, or something stays in memory", v.Message
	switch {
	case m.alone():
		seen, because = fmt.Sprintf("; a single tensor of %v was requested in the run that failed", units.Bytes(m.Tried)), "had other settings"
	case m.Allocated > s.Tensors && s.Tensors > 0:
		seen = fmt.Sprintf("; the run that failed had %v in tensors, and the simulated one has at most %v", units.Bytes(m.Allocated), units.Bytes(s.Tensors))
	}
	v.Why = fmt.Sprintf("%swith %s, %s takes %v of %v in simulation, which fits%s: the run that failed %s", phases[v.Code], s.Settings, what, takes, units.Bytes(s.Has), seen, because)
	v.Confidence = Possible
	kept := slices.DeleteFunc(v.Fixes, func(f Fix) bool { return !f.applies })
	v.Fixes = append([]Fix{
		{Change: "compare the settings with those of the run that failed (model, batch, length, precision)", Command: s.Estimate},
	}, kept...)
	if len(v.Holders) == 0 && !m.alone() {
		v.Fixes = append(v.Fixes, Fix{Change: "record what uses the memory", Command: "snug diagnose --watch -- python " + v.scriptName()})
	}
}

// phases describes where a run failed, for verdicts that the traceback proves.
var phases = map[Code]string{
	Loading:            "memory ran out while the model was being moved to the card, but ",
	FirstOptimizerStep: "memory ran out in the first update, but ",
}

func (v *Verdict) scriptName() string {
	if v.Script == "" {
		return "train.py"
	}
	return v.Script
}

// confidence returns how strong the evidence is for a cause that was found by simulation and in the script.
func (s Simulation) confidence() Confidence {
	if s.Guessed {
		return Possible
	}
	return Likely
}

// figures describes how much memory the run needs and how much it has.
func (s Simulation) figures() string {
	return fmt.Sprintf("%v of %v", units.Bytes(s.Needs), units.Bytes(s.Has))
}

// complete adds the run's settings to the commands.
func (v *Verdict) complete(s Simulation) {
	for i := range v.Fixes {
		switch f := &v.Fixes[i]; {
		case f.plans:
			f.Change, f.Command = letSnugChoose, s.Optimize
		case f.varies:
			f.Command = s.Lengths
		}
	}
}
