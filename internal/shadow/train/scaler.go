// SPDX-License-Identifier: Apache-2.0

package train

import "snug/internal/shadow"

// GradScaler is torch.amp.GradScaler, for float16: the loss is multiplied by a
// scale before backward, and gradients are divided by it before the update. Steps are assumed not to overflow.
type GradScaler struct {
	w        *shadow.World
	scale    *shadow.Tensor
	tracker  *shadow.Tensor
	foundInf *shadow.Tensor // flag of the current step, once gradients are unscaled
}

// NewGradScaler makes a scaler; its tensors are allocated with the first loss.
func NewGradScaler(w *shadow.World) *GradScaler { return &GradScaler{w: w} }

// Scale is scaler.scale(loss).
func (s *GradScaler) Scale(loss *shadow.Tensor) *shadow.Tensor {
	fn := s.w.Func(loss)
	if s.scale == nil {
		s.w.Unmetered(func() {
			s.scale = s.w.Full(shadow.Float32).Hold()
			s.tracker = s.w.Full(shadow.Int32).Hold()
		})
	}
	return fn.Return(loss.Mul(s.scale))
}

// Unscale is scaler.unscale_(optimizer): it computes the inverse of the scale, in double
// precision, and a flag for infinities. Each is copied to the device, and the flag's copy lives until Update.
func (s *GradScaler) Unscale(params []*shadow.Tensor) {
	if s.scale == nil { // PyTorch raises an error, because no loss was scaled
		return
	}
	wide := s.scale.Pointwise("_to_copy", shadow.Float64)
	inverse := wide.Pointwise("reciprocal", shadow.Float64)
	wide.Drop()
	s.check(params, inverse.To(shadow.Float32))
}

// check is _unscale_grads_ with a new flag.
func (s *GradScaler) check(params []*shadow.Tensor, inverse *shadow.Tensor) {
	inverse.Hold()
	found := s.w.Full(shadow.Float32).Hold()
	var copied *shadow.Tensor
	for range byType(withGrad(params)) {
		if copied == nil {
			s.foundInf = found.Pointwise("_to_copy", shadow.Float32).Hold()
			copied = inverse.Pointwise("_to_copy", shadow.Float32).Hold()
		}
		s.w.Op("_amp_foreach_non_finite_check_and_unscale_")
	}
	copied.Drop()
	inverse.Drop()
	found.Drop()
}

// Step is scaler.step(optimizer). An optimizer that applies the scale itself gets new tensors with the scale and the
// sum of the flags. For any other optimizer, gradients are divided by the scale first.
func (s *GradScaler) Step(opt Optimizer, params []*shadow.Tensor) {
	if _, ok := opt.(interface{ scalesItself() }); !ok {
		if s.foundInf == nil {
			s.Unscale(params)
		}
		opt.Step()
		return
	}
	unscaled := s.foundInf != nil
	if !unscaled { // _check_inf_per_device
		s.check(params, s.w.Full(shadow.Float32))
	}
	found := s.foundInf.Pointwise("add", shadow.Float32).Hold() // sum() starts from 0
	var scale *shadow.Tensor
	if !unscaled {
		scale = s.scale.Pointwise("mul", shadow.Float32).Hold()
	}
	opt.Step()
	scale.Drop()
	found.Drop()
}

// Skip is scaler.step(optimizer) when a scaled gradient overflowed: the
// optimizer is not called.
func (s *GradScaler) Skip(params []*shadow.Tensor) {
	if s.foundInf == nil {
		s.Unscale(params)
	}
}

// Update is scaler.update().
func (s *GradScaler) Update() {
	s.foundInf.Drop()
	s.foundInf = nil
}
