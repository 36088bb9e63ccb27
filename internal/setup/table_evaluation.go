// SPDX-License-Identifier: Apache-2.0

package setup

// evaluationSettings returns the rows of the table for the evaluation between steps.
func evaluationSettings() []Setting {
	return []Setting{
		{
			Name: "evaluation.batch", Flags: one("eval-batch"), What: "`samples` per forward pass of an evaluation (default: the training batch)", Least: 1, Most: maxBatch,
			Phrases:  (*Setup).evaluationPhrase,
			Evidence: where(func(s *Setup) bool { return s.Evaluation != nil }, "evaluation"),
			Lever:    &evaluationLever,
			at:       func(s *Setup) any { return &s.Evaluation.Batch },
		},
		{
			Name: "evaluation.every", Flags: one("eval-every"), What: "optimizer `steps` between evaluations (default: one after the simulated steps)", Least: 1, Most: maxSeq,
			at: func(s *Setup) any { return &s.Evaluation.Every },
		},
		{
			Name: "evaluation.batches", Flags: one("eval-batches"), What: "forward `passes` per evaluation (default 4)", Least: 1, Most: maxEvaluated,
			at: func(s *Setup) any { return &s.Evaluation.Batches },
		},
		{
			Name: "evaluation.keeps_logits", Flags: one("eval-keeps-logits"), What: "the logits of all batches stay on the card until the evaluation ends",
			at: func(s *Setup) any { return &s.Evaluation.KeepsLogits },
		},
	}
}
