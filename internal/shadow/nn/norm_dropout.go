// SPDX-License-Identifier: Apache-2.0

package nn

import (
	"slices"

	"snug/internal/shadow"
)

// LayerNorm is nn.LayerNorm over the last dimension.
type LayerNorm struct {
	shadow.Path
	Weight, Bias *shadow.Tensor // (width)
}

// LayerNorm makes an nn.LayerNorm with or without a bias.
func (b *Builder) LayerNorm(at string, width int, bias bool) *LayerNorm {
	l := &LayerNorm{Path: shadow.Path(at), Weight: b.Parameter(at+".weight", width)}
	b.norms = append(b.norms, l.Weight)
	if bias {
		l.Bias = b.Parameter(at+".bias", width)
		b.norms = append(b.norms, l.Bias)
	}
	return l
}

// OfLayerNorm reports whether a parameter belongs to an nn.LayerNorm.
func (b *Builder) OfLayerNorm(p *shadow.Tensor) bool { return slices.Contains(b.norms, p) }

// Call is norm(x).
func (l *LayerNorm) Call(x *shadow.Tensor) *shadow.Tensor { return x.World().Call(l, x) }

// Forward is nn.LayerNorm.forward.
func (l *LayerNorm) Forward(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	return x.LayerNorm(l.Weight, l.Bias)
}

// Dropout is nn.Dropout in training; its mask is allocated in shadow/ops_dropout.go.
type Dropout float64

// Call is dropout(x).
func (p Dropout) Call(x *shadow.Tensor) *shadow.Tensor { return x.Dropout(float64(p)) }
