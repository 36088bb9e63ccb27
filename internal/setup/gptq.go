// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"slices"
	"strings"
)

// The widths that GPTQ quantizes weights to.
var gptqBits = []int{2, 3, 4, 8}

// usualGroup is the number of inputs that share a scale unless something else is given; whole means all of them.
const (
	usualGroup = 128
	whole      = -1
	maxGroup   = 1 << 16
)

// Packed reports whether the weights are already quantized, by GPTQ or AWQ.
func (q *Quantization) Packed() bool { return q != nil && q.Method != "" }

// ByGPTQ reports whether the weights were quantized by GPTQ.
func (q *Quantization) ByGPTQ() bool { return q != nil && q.Method == GPTQ }

// Grouped returns how many inputs share a scale; 0 means all of them.
func (q *Quantization) Grouped() int { return max(q.Group, 0) }

// checkPacked records an error for settings that are not simulated, or that are for bitsandbytes.
func (o *object) checkPacked(q *Quantization) {
	others := []string{"type", "double", "compute", "cast_back", "prepare"}
	if !q.ByGPTQ() {
		others[len(others)-1] = "kernel" // PEFT's function casts the rest of a model that AWQ quantized
	}
	for _, key := range others {
		if v := o.keys[key]; v != nil && v != false {
			o.fail(key, " has no effect on weights quantized by %s; remove it", strings.ToUpper(q.Method))
		}
	}
	switch {
	case q.ByGPTQ() && !slices.Contains(gptqBits, q.Bits):
		o.fail("bits", ": GPTQ quantizes weights to 2, 3, 4 or 8 bits, not to %d", q.Bits)
	case !q.ByGPTQ() && q.Bits != fourBits:
		o.fail("bits", ": AWQ quantizes weights to 4 bits, not to %d", q.Bits)
	}
	q.asPacked(q.Method)
}

// checkUngrouped records an error for settings of GPTQ and AWQ.
func (o *object) checkUngrouped() {
	for _, key := range []string{"group_size", "kernel"} {
		if o.keys[key] != nil {
			o.fail(key, " is for weights quantized by GPTQ or AWQ; remove it, or set {quantization.method=gptq}")
		}
	}
}

// asPacked removes the settings of bitsandbytes and fills in GPTQ's or AWQ's.
func (q *Quantization) asPacked(method string) {
	q.Method, q.Type, q.Compute, q.Double, q.CastBack = method, "", "", false, false
	if q.ByGPTQ() {
		q.Prepare = false
	}
	if q.Group == 0 {
		q.Group = usualGroup
	}
}

// readPacked reads the quantization_config of a model that GPTQ or AWQ quantized. What it does not contain is left as it is.
func (q *Quantization) readPacked(method string, config map[string]any) {
	if q.Bits == 0 {
		q.Bits = fourBits
	}
	if n, ok := config["bits"].(float64); ok {
		q.Bits = int(n)
	}
	if n, ok := config["group_size"].(float64); ok {
		q.Group = int(n)
	}
	q.asPacked(method)
}

// completeGPTQ returns an error for settings that do not work with weights quantized by GPTQ.
func (s *Setup) completeGPTQ() error {
	q := s.Quantization
	switch {
	case !slices.Contains(gptqBits, q.Bits):
		return unknownModel("the weights of %s have %d bits; GPTQ is simulated with 2, 3, 4 and 8", s.Model.Title(), q.Bits)
	case q.Kernel == TritonV2 && q.Bits == 3:
		return Wrong("{quantization.kernel} is triton-v2, which has no 3-bit weights; remove it")
	case q.Kernel == TritonV2 && s.Precision != FP16 && s.Precision != AmpFP16:
		return Wrong("{quantization.kernel} is triton-v2, which computes in float16, but {precision} is %s; choose {precision=amp-fp16} or {precision=fp16}", s.Precision)
	case s.Dist != nil && !(q.Kernel == TritonV2 && s.DistKind() == FSDP1):
		return Wrong("{quantization.method} gptq, with {dist.kind} %s: weights quantized by GPTQ are simulated on one GPU, and with {quantization.kernel=triton-v2} under fsdp1; choose one of these, or measure the run: snug profile -- <your command>", s.Dist.Kind)
	}
	return nil
}

// completeAWQ returns an error for settings that do not work with weights quantized by AWQ.
func (s *Setup) completeAWQ() error {
	switch {
	case s.Quantization.Bits != fourBits:
		return unknownModel("the weights of %s have %d bits; AWQ is simulated with 4", s.Model.Title(), s.Quantization.Bits)
	case s.Precision == BF16:
		return Wrong("{precision} is bf16, but transformers loads weights quantized by AWQ in float16; choose {precision=fp16} or {precision=amp-fp16}")
	case s.Dist != nil:
		return Wrong("{quantization.method} awq, with {dist.kind} %s: weights quantized by AWQ are simulated on one GPU; remove {dist.kind}, or measure the run: snug profile -- <your command>", s.Dist.Kind)
	}
	return nil
}
