// SPDX-License-Identifier: Apache-2.0

package setup

// The words of settings. Words from other programs are not accepted: choice in object.go refuses them, and
// others_words.go translates them in the error. The words in config files are the vocabularies in config/systems.

// The types of weights and arithmetic.
const (
	FP32    = "fp32"     // everything in float32
	BF16    = "bf16"     // everything in bfloat16
	FP16    = "fp16"     // everything in float16
	AmpBF16 = "amp-bf16" // float32 weights, autocast in bfloat16
	AmpFP16 = "amp-fp16" // float32 weights, autocast in float16, with a gradient scaler
)

// The implementations of attention.
const (
	SDPA  = "sdpa"  // torch's scaled_dot_product_attention
	Eager = "eager" // plain ops, with the full score matrix
	Flash = "flash" // the flash-attn library
)

// The 4-bit types.
const (
	NF4 = "nf4" // 4-bit normal float
	FP4 = "fp4" // 4-bit float
)

// The libraries that quantized the weights.
const (
	BitsAndBytes = "bitsandbytes" // quantizes weights while they are loaded
	GPTQ         = "gptq"         // weights that are already quantized, in 32-bit words
	AWQ          = "awq"          // the same, in another layout
)

// The layers that compute with GPTQ's weights.
const (
	GPTQModel = "gptqmodel" // GPTQModel's, which transformers uses
	TritonV2  = "triton-v2" // the Triton kernels of AutoGPTQ and fms-acceleration
)

// PEFT's methods.
const (
	LoRATuner = "lora"    // low-rank matrices beside the weights
	IA3       = "ia3"     // vectors that scale the layers' inputs and outputs
	AdaLoRA   = "adalora" // low-rank matrices with singular values, kept orthogonal
	VeRA      = "vera"    // vectors that scale random matrices which all layers share
	LoHa      = "loha"    // elementwise products of two low-rank products
	LoKr      = "lokr"    // Kronecker products
	OFT       = "oft"     // rotations of the layers' inputs, in blocks

	PromptTuning = "prompt"   // embeddings of virtual tokens before the text
	PTuning      = "p-tuning" // the same, made by an MLP
	PrefixTuning = "prefix"   // keys and values of virtual tokens in every layer
)

// The code that computes the loss of a causal model. The model's own code computes the logits of all tokens at once.
// TRL's code never keeps more than a tile of the logits, and Liger's never more than a few rows.
const (
	ModelLoss = "model" // the model's own loss
	TRLLoss   = "trl"   // TRL's chunked loss
	LigerLoss = "liger" // Liger's fused linear loss

	UnslothLoss = "unsloth" // Unsloth's cross-entropy kernel, on the logits of all tokens
)

// What a loop compares answers with.
const (
	ReferenceModel    = "model"       // a second, frozen model
	ReferenceAdapters = "adapters"    // the model without its adapters
	ReferenceBefore   = "precomputed" // log-probabilities computed before training
	ReferenceNone     = "none"        // nothing
)

// The values of settings.
var (
	Precisions = []string{FP32, AmpBF16, AmpFP16, BF16, FP16} // the values of precision
	// WeightTypes are the values of weights.
	WeightTypes = []string{FP32, BF16, FP16, Saved}
	Attentions  = []string{SDPA, Eager, Flash}                         // the values of attention
	Losses      = []string{ModelLoss, TRLLoss, LigerLoss, UnslothLoss} // the values of loss
	References  = []string{ReferenceModel, ReferenceAdapters, ReferenceBefore, ReferenceNone}
	// Tuners are the simulated methods of PEFT.
	Tuners = []string{LoRATuner, IA3, AdaLoRA, VeRA, LoHa, LoKr, OFT, PromptTuning, PTuning, PrefixTuning}
	// QuantTypes are the 4-bit types; ComputeTypes are the types of products with quantized weights.
	QuantTypes   = []string{NF4, FP4}
	ComputeTypes = []string{BF16, FP16, FP32} // the values of quantization.compute

	QuantMethods = []string{BitsAndBytes, GPTQ, AWQ} // the values of quantization.method
	GPTQKernels  = []string{GPTQModel, TritonV2}     // the values of quantization.kernel

	shardTypes = []string{FP32, BF16, FP16}
)

// referenceText maps the values of reference to words.
var referenceText = map[string]string{
	ReferenceModel: "a reference model", ReferenceAdapters: "the model without its adapters as reference", ReferenceBefore: "precomputed reference", ReferenceNone: "no reference",
}

// lossBy maps the values of loss to display names.
var lossBy = map[string]string{TRLLoss: "TRL", LigerLoss: "Liger", UnslothLoss: "Unsloth"}
