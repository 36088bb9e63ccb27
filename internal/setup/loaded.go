// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"
	"strings"
)

// The type in which weights are loaded is independent of autocast. Autocast was made for float32 weights.
// But from_pretrained of transformers 5 loads a model in the type it was saved in, usually bfloat16. Then
// gradients and optimizer states have that type too, and autocast has nothing to cast. With LoRA it is
// the type of the frozen weights; adapters have their own.

// Saved as the type of weights means the type in the model's files, as
// from_pretrained(dtype="auto") loads them.
const Saved = "saved"

// completeWeights decides the type of the weights. Without autocast it is that of the
// precision. If no precision is given either, a model that is loaded
// as saved trains in that type.
func (s *Setup) completeWeights() error {
	s.Loaded = s.Weights
	if s.Precision == "" && s.Loaded == Saved {
		s.Precision, s.Guessed = s.Model.savedIn(FP32)
		s.Weights = ""
		return nil
	}
	if s.Weights != "" && s.Weights != Saved && s.Weights != s.Precision && !autocasts(s.Precision) {
		return Wrong("{weights} is %s and {precision} %s: weights can have a different type only under autocast; choose amp-bf16 or amp-fp16, or {weights} %[2]s",
			s.Weights, s.Precision)
	}
	s.Weights, s.Guessed = s.held(s.Loaded, s.Precision)
	if s.Precision != AmpFP16 || !s.trains16() {
		return nil
	}
	return s.unscalable()
}

// Autocasts reports whether the run computes under autocast.
func (s *Setup) Autocasts() bool { return autocasts(s.Precision) }

func autocasts(precision string) bool { return strings.HasPrefix(precision, "amp-") }

// held returns the type of the weights, given how they are loaded and the precision: "" for float32 or the
// type of the precision itself. If the saved type is not known, frozen weights under adapters are assumed
// to have 16 bits, and trained weights to be float32, which takes more.
func (s *Setup) held(loaded, precision string) (dtype string, guessed bool) {
	if !autocasts(precision) {
		return "", false
	}
	if loaded == Saved {
		usual := FP32
		if s.LoRA != nil {
			usual = strings.TrimPrefix(precision, "amp-")
		}
		loaded, guessed = s.Model.savedIn(usual)
	}
	if loaded == FP32 {
		loaded = ""
	}
	return loaded, guessed
}

// Loading says how a run would load its weights after another precision is written to its files.
type Loading struct {
	Weights string // their type, "" for float32
	Say     string // what else to write about the weights; "" for nothing
	Never   bool   // the run does not train, whatever is written
}

// NeverTrains reports whether the run cannot train under a precision, however its weights are loaded: a
// gradient scaler does not work with 16-bit adapters.
func (s *Setup) NeverTrains(precision string) bool {
	return s.Loads[precision].Never || precision == AmpFP16 && s.Quantization != nil && s.Quantization.Adapters != ""
}

// WeightsUnder returns the type of the weights under another precision. Weights loaded as saved stay so;
// others follow the arithmetic if they do so today. A gradient scaler needs trained weights in float32.
func (s *Setup) WeightsUnder(precision string) string {
	if l, known := s.Loads[precision]; known {
		return l.Weights
	}
	loaded := s.Loaded
	if loaded != "" && "amp-"+loaded == s.Precision {
		loaded = strings.TrimPrefix(precision, "amp-")
	}
	t := *s
	t.Weights, _ = s.held(loaded, precision)
	if precision == AmpFP16 && t.trains16() {
		return ""
	}
	return t.Weights
}

// trains16 reports whether a torch.amp.GradScaler would see gradients of 16 bits.
// PEFT's adapters are float32, and so are DeepSpeed's copies of the trained weights.
func (s *Setup) trains16() bool {
	if s.Dist.DeepSpeed() {
		return false
	}
	return s.Weights != "" && (s.LoRA == nil || !s.LoRA.PEFT || len(s.LoRA.Save) > 0)
}

// unscalable returns why PyTorch cannot train these weights with a gradient scaler: its kernel does not
// support bfloat16 (2.11, AmpKernels.cu), and float16 works only with an optimizer that divides by the
// scale itself.
func (s *Setup) unscalable() error {
	held, from := s.Weights, ""
	switch {
	case s.Guessed:
		from = fmt.Sprintf(", as nothing says what %s is saved in", s.Model.Title())
	case s.Loaded == Saved:
		from = fmt.Sprintf(", as %s is saved", s.Model.Title())
	}
	switch {
	case held == BF16:
		return Wrong("{precision} is amp-fp16 and {weights} bf16%s: PyTorch's GradScaler cannot unscale bfloat16 gradients; choose {precision=amp-bf16}, or {weights=fp32}", from)
	case s.Clip || !strings.HasSuffix(s.Optimizer, "-fused"):
		return Wrong("{precision} is amp-fp16 and {weights} fp16%s: PyTorch's GradScaler stops at that (\"Attempting to unscale FP16 gradients\"); choose {weights=fp32}, or {precision=amp-bf16}", from)
	}
	return nil
}

// SavedIn returns the type of the model's weights according to its files, or "" if they do not say.
func (m Model) SavedIn() string {
	dtype, _ := m.savedIn("")
	return dtype
}

// savedIn returns the type of the model's weights according to its files, or else the
// usual one, as a guess.
func (m Model) savedIn(usual string) (dtype string, guessed bool) {
	for _, key := range []string{"dtype", "torch_dtype"} {
		text, _ := m.Config[key].(string)
		if known := weightTypes[strings.TrimPrefix(text, "torch.")]; known != "" {
			return known, false
		}
	}
	if m.Weights != nil && weightTypes[m.Weights.Main()] != "" {
		return weightTypes[m.Weights.Main()], false
	}
	return usual, true
}

// weightTypes maps the types of weights in config.json and safetensors.
var weightTypes = map[string]string{
	"float32": FP32, "bfloat16": BF16, "float16": FP16,
	"F32": FP32, "BF16": BF16, "F16": FP16,
}
