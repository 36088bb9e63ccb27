// SPDX-License-Identifier: Apache-2.0

package setup

import "slices"

// LigerParts are the kinds of layers that Liger has kernels for: the rotation of queries and keys, norms, and the ops
// between the matrix products of an MLP or its experts. AllLiger means all of them.
var LigerParts = []string{"rope", "norm", "mlp"}

// UnslothParts are the kinds of layers for which Unsloth's kernels are simulated.
var UnslothParts = []string{"rope", "norm", "lora"}

// FusesAdapters reports whether Unsloth's functions run the adapters of quantized layers.
func (s *Setup) FusesAdapters() bool {
	return s.Quantization != nil && slices.Contains(s.Unsloth, "lora")
}

// completeUnsloth returns an error if norms are trained on several GPUs other than with FSDP1. Unsloth's kernel computes
// no gradient for their weights, and missing gradients are simulated only on one GPU and with FSDP1.
func (s *Setup) completeUnsloth() error {
	if s.LoRA == nil && s.Dist != nil && s.DistKind() != FSDP1 && slices.Contains(s.Unsloth, "norm") {
		return Wrong("{unsloth} contains norm, which is simulated only on one GPU or with {dist.kind=fsdp1}, not with {dist.kind} %s; change {dist.kind}, or remove norm", s.Dist.Kind)
	}
	return s.completeFused()
}

// completeFused returns an error for adapters that Unsloth's functions do not run, or that are not simulated: those of the
// MLP have a function of their own.
func (s *Setup) completeFused() error {
	if !slices.Contains(s.Unsloth, "lora") {
		return nil
	}
	q := s.Quantization
	switch {
	case q == nil:
		return Wrong("{unsloth} contains lora, whose functions are for quantized weights; remove it, or set {quantization.bits}")
	case q.ByGPTQ() && q.Kernel != TritonV2, !q.ByGPTQ() && (q.Packed() || q.Bits != fourBits || !q.Double):
		return Wrong("{unsloth} contains lora, whose functions need 4-bit weights with {quantization.double}, or {quantization.method=gptq} with {quantization.kernel=triton-v2}; remove it")
	case s.Dist != nil && s.DistKind() != FSDP1:
		return Wrong("{unsloth} contains lora, which is simulated only on one GPU or with {dist.kind=fsdp1}, not with {dist.kind} %s; remove it", s.Dist.Kind)
	case !slices.Equal(slices.Sorted(slices.Values(s.LoRA.Targets)), fusedTargets):
		return Wrong("{unsloth} contains lora, which is simulated only with {lora.targets} %s; remove it", spaced(fusedTargets))
	}
	return nil
}

// fusedTargets are the layers that Unsloth's simulated functions run, in alphabetical order.
var fusedTargets = []string{"k_proj", "o_proj", "q_proj", "v_proj"}

// AllLiger means all of LigerParts.
const AllLiger = "all"

// ligerParts returns the layers that use Liger's kernels, without duplicates and in a fixed order.
func ligerParts(given []string) []string {
	var out []string
	for _, part := range LigerParts {
		if slices.Contains(given, part) || slices.Contains(given, AllLiger) {
			out = append(out, part)
		}
	}
	return out
}
