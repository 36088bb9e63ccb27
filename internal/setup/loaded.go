// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"
	"strings"
)

// The type in which weights are loaded is independent of autocast. Autocast was designed for float32 weights. But
// from_pretrained in transformers 5 loads a model in the type it was saved in, usually bfloat16. Then gradients and
// optimizer states have that type too, and autocast has nothing to cast. With LoRA it is the type of the frozen
// weights; adapters have their own.

// Saved, as a type of weights, means the type in the model's files, as with from_pretrained(dtype="auto").
const Saved = "saved"

// completeWeights determines the type of the weights. Without autocast it follows from the precision. If no precision
// is given either, a model loaded as saved trains in its saved type.
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

// Autocasts reports whether the run uses autocast.
func (s *Setup) Autocasts() bool { return autocasts(s.Precision) }

func autocasts(precision string) bool { return strings.HasPrefix(precision, "amp-") }

// held returns the type of the weights for a way of loading and a precision; "" means float32 or the precision's own
// type. If the saved type is unknown, frozen weights under adapters are assumed to be 16-bit, and trained weights to
// be float32, which takes more memory.
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

// Loading describes how a run would load its weights after another precision is written to its files.
type Loading struct {
	Weights string // type of the weights; "" means float32
	Say     string // what else to write about the weights; "" means nothing
	Never   bool   // the run cannot train in this precision, however its weights are loaded
}

// NeverTrains reports whether the run cannot train in a precision, however its weights are loaded: a gradient scaler
// does not work with 16-bit adapters.
func (s *Setup) NeverTrains(precision string) bool {
	return s.Loads[precision].Never || precision == AmpFP16 && s.Quantization != nil && s.Quantization.Adapters != ""
}

// WeightsUnder returns the type of the weights in another precision. Weights that are loaded as saved keep that type.
// Other weights get the type of the arithmetic if they have it now. A gradient scaler needs float32 trained weights.
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

// TrainsIn16Bits reports whether the trained weights themselves are 16-bit, so that small updates are lost.
func (s *Setup) TrainsIn16Bits() bool {
	return s.LoRA == nil && !s.Dist.DeepSpeed() && (s.Precision == BF16 || s.Precision == FP16 || s.Weights == BF16 || s.Weights == FP16)
}

// trains16 reports whether a torch.amp.GradScaler would see 16-bit gradients. PEFT's adapters are float32, and so are
// DeepSpeed's copies of the trained weights.
func (s *Setup) trains16() bool {
	if s.Dist.DeepSpeed() {
		return false
	}
	return s.Weights != "" && (s.LoRA == nil || !s.LoRA.PEFT || len(s.LoRA.Save) > 0)
}

// unscalable returns an error if PyTorch cannot train these weights with a gradient scaler: its kernel does not
// support bfloat16 (2.11, AmpKernels.cu), and float16 works only with an optimizer that unscales gradients itself.
func (s *Setup) unscalable() error {
	held, from := s.Weights, ""
	switch {
	case s.Guessed:
		from = fmt.Sprintf(", because the saved type of %s is not known", s.Model.Title())
	case s.Loaded == Saved:
		from = fmt.Sprintf(", the saved type of %s", s.Model.Title())
	}
	switch {
	case held == BF16:
		return Wrong("{precision} is amp-fp16 and {weights} bf16%s: PyTorch's GradScaler cannot unscale bfloat16 gradients; choose {precision=amp-bf16}, or {weights=fp32}", from)
	case s.Clip || !strings.HasSuffix(s.Optimizer, "-fused"):
		return Wrong("{precision} is amp-fp16 and {weights} fp16%s: PyTorch's GradScaler fails (\"Attempting to unscale FP16 gradients\"); choose {weights=fp32}, or {precision=amp-bf16}", from)
	}
	return nil
}

// SavedIn returns the type of the model's weights according to its files, or "" if they do not say.
func (m Model) SavedIn() string {
	dtype, _ := m.savedIn("")
	return dtype
}

// savedIn returns the type of the model's weights according to its files, or else the usual one, as a guess.
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

// weightTypes maps type names in config.json and safetensors files.
var weightTypes = map[string]string{
	"float32": FP32, "bfloat16": BF16, "float16": FP16,
	"F32": FP32, "BF16": BF16, "F16": FP16,
}
