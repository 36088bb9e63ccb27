// SPDX-License-Identifier: Apache-2.0

package script

// Evaluating is how a loop known by name evaluates; the zero value means that it does not.
type Evaluating struct {
	Batch       int  // samples in a forward pass
	Batches     int  // forward passes in an evaluation
	Every       int  // optimizer steps between evaluations
	KeepsLogits bool // the logits of all batches are kept until the evaluation ends
}

// record returns the evaluation in the form that such a loop reads, or None if there is no evaluation.
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

// samples is a data set with nothing known but its length.
type samples struct {
	refs
	n int
}

func (s *samples) release() { s.last() }
