// SPDX-License-Identifier: Apache-2.0

package setup

import "snug/internal/family"

// usualResolution is the width and height of images if none is given (diffusers 0.42, train_text_to_image.py).
const usualResolution = 512

// maxResolution is the largest width and height of images.
const maxResolution = 8192

// Diffuses reports whether the run trains a diffusion model with one of diffusers' programs, which have few settings.
func (s *Setup) Diffuses() bool { return s.Model.Head == family.Diffusion }

// completeDiffusion fills in what diffusers' programs decide themselves, and returns an error for settings that they do
// not have.
func (s *Setup) completeDiffusion() error {
	if !s.Diffuses() {
		if s.Resolution > 0 {
			return Wrong("{resolution} is for diffusion models, but %s is trained as %s; remove it", s.Model.Title(), s.Model.Head)
		}
		return nil
	}
	if s.Resolution == 0 {
		s.Resolution = usualResolution
	}
	switch {
	case s.Precision == BF16 || s.Precision == FP16:
		return Wrong("{precision} %s: diffusers' programs train a U-Net in float32 under autocast; choose amp-%s", s.Precision, s.Precision)
	case s.Attention != "" && s.Attention != SDPA:
		return Wrong("{attention} %s is not simulated for diffusion models; choose {attention=sdpa}", s.Attention)
	case s.Evaluation != nil:
		return Wrong("{evaluation}: diffusers' programs do not evaluate; remove it")
	case s.Quantization != nil:
		return Wrong("{quantization} is not simulated for diffusion models; remove it")
	case s.Dist != nil && s.DistKind() != DDP:
		return Wrong("{dist.kind} %s is not simulated for diffusion models; choose {dist.kind=ddp}", s.Dist.Kind)
	}
	return s.completeFrozen()
}

// completeFrozen sets the type of the weights that adapters freeze: autocast's, to which the program casts them.
func (s *Setup) completeFrozen() error {
	held := map[string]string{AmpFP16: FP16, AmpBF16: BF16}[s.Precision]
	if s.LoRA == nil {
		if s.Weights != "" && s.Weights != FP32 {
			return Wrong("{weights} %s: diffusers' programs train the U-Net's weights in float32; remove it", s.Weights)
		}
		return nil
	}
	s.LoRA.PEFT = true
	if s.Weights == "" || s.Weights == FP32 {
		s.Weights = held
	}
	if s.Weights != held {
		return Wrong("{weights} %s: diffusers' programs cast the frozen weights to the type of {precision} %s; remove it", s.Weights, s.Precision)
	}
	return nil
}
