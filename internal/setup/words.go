// SPDX-License-Identifier: Apache-2.0

package setup

// The types of weights and arithmetic.
const (
	FP32    = "fp32"
	BF16    = "bf16"
	FP16    = "fp16"
	AmpBF16 = "amp-bf16" // float32 weights under autocast
	AmpFP16 = "amp-fp16"
)

// The implementations of attention.
const (
	SDPA  = "sdpa"
	Eager = "eager"
	Flash = "flash"
)

// What 4 bits stand for.
const (
	NF4 = "nf4"
	FP4 = "fp4"
)

// Whose code computes the loss of a causal model. The model's own makes the logits
// of every token at once; TRL's never has more than a tile of them, and Liger's no
// more than a few rows.
const (
	ModelLoss = "model"
	TRLLoss   = "trl"
	LigerLoss = "liger"
)

// The words that settings may hold.
var (
	Precisions = []string{FP32, AmpBF16, AmpFP16, BF16, FP16}
	// WeightTypes is what weights are loaded in.
	WeightTypes = []string{FP32, BF16, FP16, Saved}
	Attentions  = []string{SDPA, Eager, Flash}
	Losses      = []string{ModelLoss, TRLLoss, LigerLoss}
	// QuantTypes is what 4 bits may stand for, ComputeTypes what products with
	// quantized weights are computed in.
	QuantTypes   = []string{NF4, FP4}
	ComputeTypes = []string{BF16, FP16, FP32}

	shardTypes = []string{FP32, BF16, FP16}
)

// lossBy is whose code computes a loss, as people write the name.
var lossBy = map[string]string{TRLLoss: "TRL", LigerLoss: "Liger"}
