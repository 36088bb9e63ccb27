// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// Image models without a head, such as ViTModel. Only scripts have them, because they return no loss.

// keepsBare keeps the results of a model that has no head or is called without it, and reports whether it is one.
func (n net) keepsBare(hidden, pooled *shadow.Tensor) bool {
	if n.run.Head != Encoder && (n.run.Calling == nil || !n.run.Calling.Base) {
		return false
	}
	if !n.run.Calling.keepHidden(hidden) {
		return false
	}
	if pooled != nil {
		n.run.Calling.keepPooled(pooled)
	}
	return true
}

// pooling is a pooler over the hidden states.
type pooling interface {
	pool(hidden *shadow.Tensor) *shadow.Tensor
}

// headless is keepsBare for a model whose pooler runs only without a head.
func (n net) headless(hidden *shadow.Tensor, by pooling) bool {
	if !n.keepsBare(hidden, nil) {
		return false
	}
	if pooled := by.pool(hidden); pooled != nil {
		n.run.Calling.keepPooled(pooled)
	}
	return true
}

// selectsFirst pools by selecting the first token.
type selectsFirst struct{}

func (selectsFirst) pool(hidden *shadow.Tensor) *shadow.Tensor { return hidden.Select(1, 0) }

// firstPooler is ViTPooler: a linear layer and an activation over the first token.
type firstPooler struct {
	shadow.Path
	dense *nn.Linear
	act   activation
}

func newFirstPooler(b *nn.Builder, at string, hidden, out int, act activation) *firstPooler {
	return &firstPooler{Path: shadow.Path(at), dense: b.Linear(at+".dense", hidden, out, true), act: act}
}

func (p *firstPooler) pool(hidden *shadow.Tensor) *shadow.Tensor {
	if p == nil {
		return nil
	}
	return hidden.World().Call(p, hidden)
}

// Forward is ViTPooler.forward.
func (p *firstPooler) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	first := fn.Let(hidden.Select(1, 0)) // (B, H)
	pooled := fn.Let(p.dense.Call(first))
	fn.Set(&pooled, p.act(pooled))
	return pooled
}
