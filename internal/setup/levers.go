// SPDX-License-Identifier: Apache-2.0

package setup

// Levers returns the levers in the table (table.go), in order. It excludes settings that the planner's own search
// varies; their levers are in plan/levers.go.
func Levers() []*Lever {
	var out []*Lever
	for _, x := range Settings() {
		if x.Lever != nil {
			out = append(out, x.Lever)
		}
	}
	return out
}

// ligerLever uses all Liger kernels that exist for a model.
var ligerLever = Lever{
	Change: "Liger's kernels", Price: "needs liger-kernel installed",
	Can: func(s *Setup) bool { return s.Model.HasLiger() && len(s.Liger) == 0 },
	Pull: func(s *Setup) {
		s.Liger = LigerParts
		if s.Loss == "" && s.Model.Head == "causal-lm" {
			s.Loss = LigerLoss
		}
	},
}

// doubleLever quantizes the scales of weights that are quantized already.
var doubleLever = Lever{
	Change: "double quantization", Price: "the scales of the frozen weights are rounded too", Rounds: true,
	Can: func(s *Setup) bool {
		return s.Quantization != nil && !s.Quantization.Double && !s.Quantization.Packed()
	},
	Pull: func(s *Setup) {
		q := *s.Quantization
		q.Double = true
		s.Quantization = &q
	},
}

// quantizationLever is QLoRA, for a run with PEFT adapters.
var quantizationLever = Lever{
	Change: "4-bit weights", Price: "needs bitsandbytes; frozen weights are rounded; the time to dequantize is unknown", Rounds: true,
	Can:  (*Setup).CanQuantize,
	Pull: func(s *Setup) { s.Quantization = s.UsualQuantization() },
}

// evaluationLever evaluates one sample at a time. It changes nothing about what is trained.
var evaluationLever = Lever{
	Change: "evaluation batch 1", Price: "evaluation is slower",
	Can: func(s *Setup) bool { return s.Evaluation != nil && s.EvaluationBatch() > 1 && s.EvaluatesWhole() },
	Pull: func(s *Setup) {
		e := s.Evaluation
		s.Evaluation = &Evaluation{Batch: 1, Every: e.Every, Batches: e.Batches, KeepsLogits: e.KeepsLogits}
	},
}
