// SPDX-License-Identifier: Apache-2.0

package shadow

// SelectedLogProbs is TRL's selective_log_softmax over complete logits (trl/kernels/logprob_entropy.py, 1.16):
// one kernel computes the log-probability of one entry per row, and the entropy, which is not used. Its backward
// allocates a gradient as large as the logits.
func (t *Tensor) SelectedLogProbs(index *Tensor) *Tensor {
	w := t.w
	n := w.record("_LogProbEntropyFunctionBackward", t)
	record := w.NoGrad()
	fn := w.Func(t, index)
	rows := t.size.Remove(t.Dim() - 1)
	var made [4]*Tensor // log-probabilities, entropy, log of the sum, expected logit
	for i := range made {
		w.Op("empty")
		made[i] = fn.Let(w.Empty(rows, Float32))
	}
	w.Launch(made[0], t)
	kept := n.save(t)
	for _, x := range []*Tensor{index, made[2], made[3]} {
		n.save(x)
	}
	n.backwards(func([]*Tensor) []*Tensor {
		logits := kept.get()
		w.Op("empty_like")
		out := w.Empty(logits.size, logits.dtype)
		w.Launch(out, logits)
		return inputGrads(out)
	})
	out := fn.Return(made[0])
	record()
	n.output(out, 0)
	return out
}
