// SPDX-License-Identifier: Apache-2.0

package family

import "snug/internal/shadow"

// litChunk is lm_head_chunk_size, and the chunk_size of chunked_cross_entropy.
const litChunk = 128

// LitGPT selects LitGPT's modules and loss, and their version.
type LitGPT struct {
	On    bool // LitGPT's modules and loss are used
	First bool // the version used until October 2023
	Flat  bool // under FSDP1, which casts buffers to the parameters' type
}

// LossOf computes the loss as the loop does: Fabric casts the logits to float32, those of the last token are
// dropped, and cross entropy is computed in chunks.
func (m *litGPT) LossOf(b Batch) *shadow.Tensor {
	defer m.w.As(shadow.Logits)()
	if m.w.Eval {
		return m.validationLoss(b)
	}
	m.convert()
	fn := m.w.Func()
	last := len(m.logits) - 1
	tail := m.logits[last]
	m.logits[last] = tail.Slice(1, 0, tail.Size(1)-1).Hold()
	tail.Drop()
	logits, targets := m.chunks(fn, b.Labels.Slice(-1, 1, b.Labels.Size(-1)))
	var losses []*shadow.Tensor
	for i, target := range targets {
		losses = append(losses, fn.Let(logits[i].CrossEntropyOf(target, shadow.CrossEntropyLoss{Reduction: "none"})))
	}
	return fn.Return(shadow.Cat(0, losses...).Mean(false, 0))
}

// convert is the end of Fabric's forward (convert_output), with the loop's variable logits.
func (m *litGPT) convert() {
	old := m.logits
	m.logits = nil
	for _, x := range m.returned {
		m.logits = append(m.logits, x.Float().Hold())
	}
	for _, x := range append(m.returned, old...) {
		x.Drop()
	}
	m.returned = nil
}

// validationLoss is the loss in validate, where nothing is chunked.
func (m *litGPT) validationLoss(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	logits := fn.Let(m.returned[0].Float())
	m.returned[0].Drop()
	m.returned = nil
	m.run.Calling.keepLogits(logits)
	flat := fn.Let(logits.Slice(1, 0, logits.Size(1)-1).Reshape(-1, m.vocab))
	targets := fn.Let(b.Labels.Slice(-1, 1, b.Labels.Size(-1)).Reshape(-1))
	return fn.Return(flat.CrossEntropy(targets))
}

// chunks returns the chunks of logits and targets that chunked_cross_entropy makes: lm_head's own chunks, or rows
// of all logits.
func (m *litGPT) chunks(fn *shadow.Frame, targets *shadow.Tensor) (logits, of []*shadow.Tensor) {
	if m.run.Lora.Rank == 0 {
		all := fn.Let(m.logits[0].Reshape(-1, m.vocab))
		flat := fn.Let(targets.Reshape(-1))
		rows := chunksOf(all.Size(0), litChunk)
		return held(fn, all.Split(0, rows...)), held(fn, flat.Split(0, rows...))
	}
	for _, x := range m.logits {
		logits = append(logits, fn.Let(x.Reshape(-1, m.vocab)))
	}
	for _, y := range targets.Split(1, chunksOf(targets.Size(1), litChunk)...) {
		of = append(of, fn.Let(y.Reshape(-1)))
	}
	return logits, of
}

// held binds each part of a list to a variable.
func held(fn *shadow.Frame, parts []*shadow.Tensor) []*shadow.Tensor {
	for _, p := range parts {
		fn.Let(p)
	}
	return parts
}

// chunksOf returns the sizes of the pieces that torch.split makes of n elements: all equal to size, except for
// the last. For n = 0 there is one empty piece.
func chunksOf(n, size int) (sizes []int) {
	for ; n > size; n -= size {
		sizes = append(sizes, size)
	}
	return append(sizes, n)
}
