// SPDX-License-Identifier: Apache-2.0

package script

// Evaluating configures the evaluation in a loop known by name; the zero value means none.
type Evaluating struct {
	Batch       int  // samples per forward pass
	Batches     int  // forward passes per evaluation
	Every       int  // optimizer steps between evaluations
	KeepsLogits bool // the logits of all batches are kept until the evaluation ends
}

// record returns the evaluation in the form that the loop reads, or None if there is no evaluation.
func (e Evaluating) record() value {
	if e.Batches == 0 {
		return nil
	}
	d := &dict{record: true}
	d.set("batch", e.Batch)
	d.set("every", e.Every)
	d.set("keeps_logits", e.KeepsLogits)
	return d
}

// samples is a dataset of which only the length is known.
type samples struct {
	refs
	n int
}

func (s *samples) release() { s.last() }
