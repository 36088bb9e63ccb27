// SPDX-License-Identifier: Apache-2.0

package script

// Evaluating is how a loop known by name evaluates; the zero value is not at all.
type Evaluating struct {
	Batch       int  // samples of a forward pass
	Batches     int  // forward passes
	Every       int  // optimizer steps between evaluations
	KeepsLogits bool // the logits of all batches are kept until it ends
}

// record is the evaluation as such a loop sees it, None where there is none.
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

// samples is a data set of which only the length is known.
type samples struct {
	refs
	n int
}

func (s *samples) release() { s.last() }
