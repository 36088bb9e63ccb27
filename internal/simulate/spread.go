// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"strings"

	"snug/internal/setup"
	"snug/internal/shadow"
)

// A script is followed on one GPU only. For a run on several GPUs, it still gives the precision, the optimizer and other
// settings that nothing else gives.

// followsAlone reports whether a setup on several GPUs has a script that is followed on one GPU only.
func followsAlone(s *setup.Setup) bool {
	return s.Script.Readable() && s.Script.File != nil && s.Dist != nil && !s.FollowsOverGPUs() && s.Model.Program == nil
}

// runSpread runs snug's own loop on several GPUs, with the settings of the script.
func runSpread(s *setup.Setup, o Options) (*Result, error) {
	if s.Script.Accumulation() == 0 && !s.Script.Abandoned() {
		one := *s
		one.Dist = nil
		_, err := runLoop(&one, Options{Card: o.Card, Spread: true, Stop: o.Stop, MaxEvents: o.MaxEvents})
		if o.Stop != nil && o.Stop() != nil {
			return nil, o.Stop()
		}
		if err != nil {
			if own := ownClass(s.Script); own != nil {
				return nil, own
			}
			if why := notPlain(s.Script, err); why != nil {
				return nil, why
			}
			s.Script.Abandon()
			s.Script.Note(append([]string{fmt.Sprintf("%s cannot be followed (%s), so settings that only its code shows are not counted; the figures assume that each step runs in its own function, and may be too low",
				s.Script.Path(), reason(err, s))}, uncounted(s)...))
		}
	}
	if s.Script.OwnModel() {
		return nil, setup.Unsimulated(fmt.Sprintf("%s builds its own model, which is simulated on one GPU only; record the run: snug profile -- python3 %s", s.Script.Path(), s.Loop))
	}
	return runLoop(withoutScript(s), o)
}

// reason returns why a script cannot be followed, without the script's arguments and the advice for runs without figures.
func reason(err error, s *setup.Setup) string {
	why := strings.ReplaceAll(err.Error(), s.Loop, s.Script.Path())
	for _, advice := range []string{"; record the run", "; name the loop", "; use a built-in loop"} {
		why, _, _ = strings.Cut(why, advice)
	}
	return strings.TrimPrefix(why, "loop "+s.Script.Path()+": ")
}

// withoutScript returns a setup for snug's own loop, with what its script has shown.
func withoutScript(s *setup.Setup) *setup.Setup {
	plain := *s
	plain.Model.Classes = s.Script.Classes()
	plain.Script, plain.Model.Head, plain.Checkpointing = nil, s.TrainedHead(), s.Recomputes()
	if p := s.ComputesIn(); p != s.Precision {
		plain.Precision, plain.Weights = p, ""
	}
	if in := s.Script.Weights(); in != "" && autocastType(plain.Precision) != shadow.None && !s.Says("weights") {
		plain.Weights = in
	}
	if optimizer := s.Script.Optimizer(); optimizer != "" && !s.Says("optimizer") {
		plain.Optimizer = optimizer
	}
	if n := s.Script.Accumulation(); n > 0 && !s.Says("accumulation") {
		plain.Accumulation = n
	}
	return &plain
}
