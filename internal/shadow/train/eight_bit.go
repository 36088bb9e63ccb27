// SPDX-License-Identifier: Apache-2.0

package train

import (
	"snug/internal/kernel"
	"snug/internal/shadow"
)

// The 8-bit optimizers of bitsandbytes (bitsandbytes/optim/optimizer.py, 0.44 and later).

// In 8 bits a state needs one byte per element, one float32 per 256 elements, and one table of 256 values per
// kind of state, shared by all parameters. States of tensors with fewer than 4096 elements stay in float32.
const (
	blockElements = 256
	tableEntries  = 256
	least8bit     = 4096
)

// eightBit is Adam8bit or Lion8bit, whose kernels work in place.
type eightBit struct {
	w      *shadow.World
	params []*shadow.Tensor
	states int // moments per parameter
	tables []*shadow.Tensor
	made   map[*shadow.Tensor]bool
	wide   map[*shadow.Tensor]bool // parameters whose states stay in float32
}

// Widen keeps the states of the given parameters in float32: an override in bitsandbytes' GlobalOptimManager.
func Widen(o Optimizer, params []*shadow.Tensor) {
	switch o := o.(type) {
	case groups:
		for _, g := range o {
			Widen(g, params)
		}
	case *eightBit:
		o.wide = map[*shadow.Tensor]bool{}
		for _, p := range params {
			o.wide[p] = true
		}
	}
}

func newAdam8bit(w *shadow.World, params []*shadow.Tensor) Optimizer {
	return &eightBit{w: w, params: params, states: 2, made: map[*shadow.Tensor]bool{}}
}

func newLion8bit(w *shadow.World, params []*shadow.Tensor) Optimizer {
	return &eightBit{w: w, params: params, states: 1, made: map[*shadow.Tensor]bool{}}
}

// Step allocates the missing states.
func (e *eightBit) Step() {
	for _, p := range withGrad(e.params) {
		if !e.made[p] {
			e.made[p] = true
			e.init(p)
		}
	}
}

func (e *eightBit) init(p *shadow.Tensor) {
	dt := shadow.UInt8
	if p.Numel() < least8bit || e.wide[p] {
		dt = shadow.Float32
	}
	if dt == shadow.UInt8 && e.tables == nil {
		for range e.states {
			e.tables = append(e.tables, zeros(p, shadow.Dims(tableEntries)))
		}
	}
	for range e.states {
		zerosLike(p, dt)
	}
	if dt == shadow.UInt8 {
		for range e.states {
			zeros(p, shadow.Dims(kernel.CeilDiv(p.Numel(), blockElements)))
		}
	}
}
