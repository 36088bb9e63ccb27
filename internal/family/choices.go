// SPDX-License-Identifier: Apache-2.0

package family

import "snug/internal/shadow"

// chooser is the start of a ForMultipleChoice.forward: the texts of all samples are run as one batch. The rest is
// the model's own forward.
type chooser struct {
	Model
	net
}

// Batch makes the texts of each sample, a mask of ones, and the number of the right text.
func (m *chooser) Batch() Batch {
	C, S := m.run.Choices, m.run.Seq
	B := m.run.Batch / C
	b := Batch{IDs: m.w.Input(shadow.Int64, B, C, S)}
	if m.run.Mask {
		b.Mask = m.w.Input(shadow.Int64, B, C, S)
	}
	b.Labels = m.w.Input(shadow.Int64, B)
	return b
}

// Loss flattens the texts of all samples.
func (m *chooser) Loss(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	m.run.Choices = b.IDs.Size(1)
	flat := b
	flat.IDs = fn.Let(b.IDs.View(-1, b.IDs.Size(-1))) // (B·C, S)
	if b.Mask != nil {
		flat.Mask = fn.Let(b.Mask.View(-1, b.Mask.Size(-1)))
	}
	return fn.Return(m.Model.Loss(flat))
}
