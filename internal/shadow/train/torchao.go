// SPDX-License-Identifier: Apache-2.0

package train

import "snug/internal/shadow"

// torchao's AdamW8bit (optim/adam.py and subclass_8bit.py, 0.18), with the block size that transformers 5.17 passes.
// The update of a parameter is compiled; it was recorded with the kernels that inductor generates in PyTorch 2.11. When
// it is compiled for the first time, autotuning takes more memory, which is not counted.

// torchaoAdam is AdamW8bit.
type torchaoAdam struct {
	w      *shadow.World
	params []*shadow.Tensor
	made   map[*shadow.Tensor]bool
}

func newTorchaoAdam(w *shadow.World, params []*shadow.Tensor) Optimizer {
	return &torchaoAdam{w: w, params: params, made: map[*shadow.Tensor]bool{}}
}

// Step allocates the missing states, and updates the parameters one by one.
func (a *torchaoAdam) Step() {
	for _, p := range withGrad(a.params) {
		if !a.made[p] {
			a.made[p] = true
			a.buffer(p)
			a.buffer(p)
		}
		if quantizesState(p) {
			a.update(p)
		}
	}
}

// quantizesState reports whether a parameter's states have 8 bits. Otherwise they have the parameter's type.
func quantizesState(p *shadow.Tensor) bool {
	return p.Numel() >= least8bit && p.Numel()%blockElements == 0
}

// buffer is _new_buffer. Each state has its own lookup table.
func (a *torchaoAdam) buffer(p *shadow.Tensor) {
	if !quantizesState(p) {
		zerosLike(p, p.DType())
		return
	}
	zerosLike(p, shadow.UInt8)
	zeros(p, shadow.Dims(p.Numel()/blockElements))
	zeros(p, shadow.Dims(tableEntries))
}

// update is single_param_adam: the new moments in float32, and the scales of their blocks.
func (a *torchaoAdam) update(p *shadow.Tensor) {
	w, size := a.w, shadow.Dims(p.Numel()/blockElements)
	w.Op("single_param_adam")
	scales := []*shadow.Tensor{w.Empty(size, shadow.Float32).Hold(), w.Empty(size, shadow.Float32).Hold()}
	moments := []*shadow.Tensor{w.Empty(p.Shape(), shadow.Float32).Hold(), w.Empty(p.Shape(), shadow.Float32).Hold()}
	w.Launch(p, moments[0], moments[1])
	for _, t := range append(moments, scales...) {
		t.Drop()
	}
}
