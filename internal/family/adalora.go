// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// orthogonal is PEFT's AdaLoraModel, which adds a regularization to the model's loss while the model's outputs exist.
type orthogonal struct {
	Model
	b       *nn.Builder
	calling *Calling
}

// NewOrthogonal returns a model with AdaLoRA's loss. calling belongs to the model's run.
func NewOrthogonal(b *nn.Builder, m Model, calling *Calling) Model { return &orthogonal{m, b, calling} }

// Loss is AdaLoraModel.forward.
func (m *orthogonal) Loss(b Batch) *shadow.Tensor {
	var out Outputs
	if m.calling.Keep == nil {
		m.calling.Keep = &out
		defer func() { m.calling.Keep = nil }()
	}
	loss := m.Model.Loss(b)
	if loss == nil {
		return nil
	}
	fn := m.b.W.Func(loss)
	m.b.Orthogonal(loss)
	for _, t := range append(out.Cache, out.Encoded, out.Logits, out.Ends) {
		t.Drop()
	}
	return fn.Return(loss)
}
