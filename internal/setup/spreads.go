// SPDX-License-Identifier: Apache-2.0

package setup

import "slices"

// SpreadsBy reports whether the run is also simulated on several GPUs with a kind of data parallelism, so that plans and
// remedies offer no kind that a setup refuses. Quantized weights keep the kind that they have.
func (s *Setup) SpreadsBy(kind string) bool {
	over := *s
	over.Dist = Over(kind, 2)
	kind = over.DistKind()
	switch {
	case s.Script != nil && s.Script.StandsFor, s.Quantization != nil:
		return false
	case s.Script != nil && ComparesAnswers(s.Script.Name):
		return over.FollowsOverGPUs()
	case s.Diffuses(), s.LoRA != nil && s.LoRA.Tuner != "" && s.LoRA.Tuner != LoRATuner:
		return kind == DDP
	case s.LoRA == nil && slices.Contains(s.Unsloth, "norm"):
		return kind == FSDP1
	}
	return true
}
