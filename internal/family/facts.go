// SPDX-License-Identifier: Apache-2.0

package family

import (
	"cmp"
	"maps"
	"slices"

	"snug/internal/shadow/nn"
)

// The tasks a model can be trained for.
const (
	CausalLM            = "causal-lm"            // predicts the next token
	MaskedLM            = "masked-lm"            // predicts masked tokens
	Encoder             = "encoder"              // embeds texts, for contrastive training
	Seq2SeqLM           = "seq2seq-lm"           // encoder and decoder
	ImageClassification = "image-classification" // classifies images
	Diffusion           = "diffusion"            // predicts the noise in images

	SemanticSegmentation = "semantic-segmentation" // classifies each pixel of an image

	SequenceClassification = "sequence-classification" // classifies texts
	TokenClassification    = "token-classification"    // classifies each token of a text
	QuestionAnswering      = "question-answering"      // finds where an answer starts and ends
	MultipleChoice         = "multiple-choice"         // chooses one of several texts
)

// Heads lists all tasks.
func Heads() []string {
	return []string{CausalLM, MaskedLM, Encoder, Seq2SeqLM, ImageClassification, SemanticSegmentation, Diffusion, SequenceClassification, TokenClassification, QuestionAnswering, MultipleChoice}
}

// Facts describes a model type for code that needs it before a model is built. This table is the only place that
// lists model types by name: a new family is one file and one row here.
type Facts struct {
	// Heads are the tasks the model can be trained for, the usual one first.
	Heads []string
	// Positions limits the input length.
	Positions Positions
	// Blocks has the paths of the block lists; FSDP wraps their blocks one by one.
	Blocks []string
	// Output is the last path component of the layer that computes logits. PEFT's all-linear and bitsandbytes
	// skip it.
	Output string
	// Classes is Output for sequence-classification; "" means "classifier", or "score" in decoders.
	Classes string
	// Answers is Output for question-answering; "" means "qa_outputs".
	Answers string
	// LoRA lists the layers that PEFT adapts by default: TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING in
	// peft/utils/constants.py, unchanged for these families from 0.16 to 0.21. If PEFT has no default for a family,
	// Suggested lists the layers that it adapts in similar families.
	LoRA, Suggested []string
	// Quantizes means that bitsandbytes replaces every linear layer except Output. A test compares this
	// with transformers.
	Quantizes    bool
	RowsMeasured bool // runs with positives and negatives were measured
	Experts      bool // the model is a mixture of experts: each token goes to a few of many MLPs
	// Liger means that liger-kernel's kernels for the model (0.8.5, monkey_patch.py) are simulated; LigerToo means
	// that Liger has kernels for the model that are not simulated.
	Liger, LigerToo bool
	// Unsloth means that fms-acceleration replaces parts of the model with Unsloth's kernels (0.6, models/*.py).
	Unsloth bool
	// repeatsUntil is the transformers release from which grouped keys and values are no longer repeated for flash
	// attention; 0 if they never were.
	repeatsUntil int
	// OwnLoss describes how the model's forward computed a causal loss before it called the shared function.
	OwnLoss ownLoss
	// Torchtune means that torchtune has the model too, built from its own modules.
	Torchtune bool
	// Unfused is the model type whose unfused layers torchtune builds for this one, or "".
	Unfused string
	// LitGPT means that LitGPT's version of the model is simulated.
	LitGPT bool
	// Vision describes how the model processes images; nil for a model without a vision tower.
	Vision *Vision
	// LMHead means that the class name ends in LMHeadModel, not ForCausalLM.
	LMHead bool
	// EagerBefore is the first release of transformers that has sdpa attention for the model: 500 is 5.0. If earlier
	// releases are asked for sdpa, they compute eager attention.
	EagerBefore int
	// Cap is the key of the config that caps attention scores, which transformers' sdpa ignores, or "". The cap is on
	// unless the key is null.
	Cap string
	// Bare means that scripts may use the model without a head, which none of the heads above is.
	Bare bool
	// ByToken means that the model runs a loop over tokens.
	ByToken bool
	// Faster names packages with kernels that transformers uses for the model if they are installed. They are not
	// simulated.
	Faster string
	// Dims are the sizes that the config may omit; zero if published formulas for transformers do not
	// apply.
	Dims Dims

	// late means that building the model does not import transformers' modeling_layers, or imports it while the CPU
	// is the default device. For other models the import loads torch.distributed.pipelining, which keeps a
	// torch.tensor(0.0) on the default device.
	late bool
	// tokens describes the head of a decoder that classifies tokens.
	tokens tokenHead
	make   maker
}

// never is later than every release.
const never = 1 << 20

// Attends returns the kind of attention that a release computes if another kind is asked for; "" if the model has none.
// Release 0 is the newest.
func (f Facts) Attends(asked string, release int) string {
	switch {
	case f.ByToken && f.Positions.Key == "":
		return ""
	case asked == "sdpa" && (f.EagerBefore == never || release > 0 && release < f.EagerBefore):
		return "eager"
	}
	return asked
}

// Positions describes how many tokens a model accepts.
type Positions struct {
	Key     string // config key with the number of positions; "" for any number
	Default int    // used if the config does not have the key
	Offset  int    // positions reserved for other uses
	Learned bool   // positions are a table, so a longer input crashes; computed positions only have a usual maximum
	Images  bool   // the model takes no tokens
	Sound   bool   // the tokens are the decoder's; the encoder takes sound of a fixed length
	AnySize bool   // the model takes images of any size
	Side    int    // side of its images unless the setup gives one; 0 means the config's image_size
	Filled  bool   // the model's own training script always uses all positions
}

// Dims are transformers' default sizes of a model.
type Dims struct {
	Hidden int // the width of hidden states
	Heads  int // attention heads of a layer
	Layers int // transformer blocks
}

// maxPositions is the usual key for the number of positions.
const maxPositions = "max_position_embeddings"

var (
	decoderHeads  = []string{CausalLM, Encoder, SequenceClassification}
	taggerHeads   = []string{CausalLM, Encoder, SequenceClassification, TokenClassification}
	unsortedHeads = []string{CausalLM, Encoder} // for decoders without a ForSequenceClassification
	encoderHeads  = []string{MaskedLM, Encoder, SequenceClassification, TokenClassification, QuestionAnswering, MultipleChoice}
	qv            = []string{"q_proj", "v_proj"}
)

// families maps model_type to facts, with the defaults of transformers 5.17.
var families = map[string]Facts{
	"albert": {
		make: newAlbert, Heads: encoderHeads, Positions: Positions{Key: maxPositions, Default: 512, Learned: true},
		Output: "decoder", Suggested: []string{"query", "value"}, Quantizes: true, Dims: Dims{4096, 64, 12},
	},
	"apertus": {
		make: newApertus, Heads: []string{CausalLM, Encoder, TokenClassification}, Positions: Positions{Key: maxPositions, Default: 65536},
		Blocks: []string{"model.layers"}, Output: "lm_head", Suggested: qv, Quantizes: true, Dims: Dims{4096, 32, 32},
	},
	"arcee": {
		make: newArcee, Heads: taggerHeads, Positions: Positions{Key: maxPositions, Default: 4096},
		Blocks: []string{"model.layers"}, Output: "lm_head", Suggested: qv, Quantizes: true, Dims: Dims{2560, 32, 32},
	},
	"bart": {
		make: newBART, Bare: true, Heads: []string{Seq2SeqLM}, Positions: Positions{Key: maxPositions, Default: 1024, Learned: true},
		Blocks: []string{"model.encoder.layers", "model.decoder.layers"}, Output: "lm_head", LoRA: qv, Dims: Dims{1024, 16, 12},
	},
	"bert": {
		make: newBert, Heads: encoderHeads, Positions: Positions{Key: maxPositions, Default: 512, Learned: true},
		Blocks: []string{"bert.encoder.layer", "encoder.layer"}, Output: "decoder", LoRA: []string{"query", "value"}, Quantizes: true, Dims: Dims{768, 12, 12},
	},
	"bloom": {
		make: newBloom, EagerBefore: never, OwnLoss: ownLoss{until: 448}, Heads: taggerHeads, tokens: tokenHead{own: true, undropped: true}, Positions: Positions{Key: "seq_length", Default: 2048},
		Blocks: []string{"transformer.h"}, Output: "lm_head", LoRA: []string{"query_key_value"}, Quantizes: true, Dims: Dims{64, 8, 2},
	},
	"camembert": {
		make: newXLMRoberta, Heads: encoderHeads, Positions: Positions{Key: maxPositions, Default: 512, Offset: 2, Learned: true},
		Blocks: []string{"roberta.encoder.layer", "encoder.layer"}, Output: "decoder", Classes: "out_proj", Suggested: []string{"query", "value"}, Quantizes: true, Dims: Dims{768, 12, 12},
	},
	"cohere": {
		make: newCohere, OwnLoss: ownLoss{until: 446, upcast: true}, Heads: unsortedHeads, Positions: Positions{Key: maxPositions, Default: 8192},
		Blocks: []string{"model.layers"}, Output: "lm_head", Suggested: qv, Quantizes: true, Dims: Dims{8192, 64, 40},
	},
	"cohere2": {
		make: newCohere2, Heads: unsortedHeads, Positions: Positions{Key: maxPositions, Default: 8192},
		Blocks: []string{"model.layers"}, Output: "lm_head", Suggested: qv, Quantizes: true, Dims: Dims{8192, 64, 40},
	},
	"convnext": {
		make: newConvNext, Bare: true, Heads: []string{ImageClassification}, Positions: Positions{Images: true, AnySize: true},
		Blocks: []string{"convnext.encoder.stages"}, Output: "classifier", Suggested: []string{"pwconv1", "pwconv2"},
	},
	"deberta-v2": {
		make: newDeberta, EagerBefore: never, Heads: encoderHeads, Positions: Positions{Key: maxPositions, Default: 512, Learned: true},
		Blocks: []string{"deberta.encoder.layer", "encoder.layer"}, Output: "decoder", LoRA: []string{"query_proj", "value_proj"}, Quantizes: true, Dims: Dims{1536, 24, 24},
	},
	"deepseek_v2": {
		make: newDeepSeekV2, Heads: decoderHeads, Positions: Positions{Key: maxPositions, Default: 2048},
		Blocks: []string{"model.layers"}, Output: "lm_head", Suggested: []string{"kv_a_proj_with_mqa", "kv_b_proj"}, Experts: true, Dims: Dims{4096, 32, 32},
	},
	"deepseek_v3": {
		make: newDeepSeekV3, Heads: taggerHeads, Positions: Positions{Key: maxPositions, Default: 4096},
		Blocks: []string{"model.layers"}, Output: "lm_head", Suggested: []string{"kv_a_proj_with_mqa", "kv_b_proj"}, Experts: true, Dims: Dims{7168, 128, 61},
	},
	"deit": {
		make: newDeiT, Bare: true, Heads: []string{ImageClassification}, Positions: Positions{Images: true},
		Blocks: []string{"deit.layers"}, Output: "classifier", Suggested: qv,
	},
	"dinov2": {
		make: newDINOv2, Bare: true, Heads: []string{ImageClassification}, Positions: Positions{Images: true, AnySize: true, Side: ImageNetSide},
		Blocks: []string{"dinov2.encoder.layer"}, Output: "classifier", Suggested: []string{"query", "value"},
	},
	"distilbert": {
		make: newDistilBert, Heads: encoderHeads, Positions: Positions{Key: maxPositions, Default: 512, Learned: true},
		Blocks: []string{"distilbert.transformer.layer", "transformer.layer"}, Output: "vocab_projector", Suggested: []string{"q_lin", "v_lin"}, Quantizes: true, Dims: Dims{768, 12, 6},
	},
	"electra": {
		make: newElectra, Heads: encoderHeads, Positions: Positions{Key: maxPositions, Default: 512, Learned: true},
		Blocks: []string{"electra.encoder.layer", "encoder.layer"}, Output: "generator_lm_head", Classes: "out_proj", LoRA: []string{"query", "value"}, Quantizes: true, Dims: Dims{256, 4, 12},
	},
	"ernie4_5": {
		make: newErnie45, Heads: unsortedHeads, Positions: Positions{Key: maxPositions, Default: 131072},
		Blocks: []string{"model.layers"}, Output: "lm_head", Suggested: qv, Quantizes: true, Dims: Dims{1024, 16, 18},
	},
	"exaone4": {
		make: newEXAONE4, Heads: taggerHeads, Positions: Positions{Key: maxPositions, Default: 2048},
		Blocks: []string{"model.layers"}, Output: "lm_head", Suggested: qv, Quantizes: true, LigerToo: true, Dims: Dims{4096, 32, 32},
	},
	"falcon": {
		make: newFalcon, OwnLoss: ownLoss{until: 448}, Heads: taggerHeads, tokens: tokenHead{own: true, undropped: true}, Positions: Positions{Key: maxPositions, Default: 2048},
		Blocks: []string{"transformer.h"}, Output: "lm_head", LoRA: []string{"query_key_value"}, Quantizes: true, Dims: Dims{4544, 71, 32},
	},
	"gemma": {
		make: newGemma1, OwnLoss: ownLoss{until: 446, upcast: true}, Heads: taggerHeads, Positions: Positions{Key: maxPositions, Default: 8192},
		Blocks: []string{"model.layers"}, Output: "lm_head", LoRA: qv, Quantizes: true, LigerToo: true, Dims: Dims{3072, 16, 28},
	},
	"gemma2": {
		make: newGemma2, Cap: "attn_logit_softcapping", OwnLoss: ownLoss{until: 446, upcast: true}, Heads: taggerHeads, Positions: Positions{Key: maxPositions, Default: 8192},
		Blocks: []string{"model.layers"}, Output: "lm_head", LoRA: qv, Quantizes: true, Liger: true, Dims: Dims{2304, 8, 26},
	},
	"gemma3": {
		make: newGemma3Vision, Heads: []string{CausalLM}, Positions: Positions{Key: maxPositions, Default: 131072}, Vision: towerVision(gemma3Image).called("token_type_ids", "", "").copying(), LigerToo: true,
		Blocks: []string{"model.vision_tower.encoder.layers", "model.language_model.layers"}, Output: "lm_head", Suggested: qv, Quantizes: true, Dims: Dims{2304, 8, 26},
	},
	"gemma3_text": {
		make: newGemma3, Heads: decoderHeads, Positions: Positions{Key: maxPositions, Default: 131072},
		Blocks: []string{"model.layers"}, Output: "lm_head", LoRA: qv, Quantizes: true, Liger: true, Dims: Dims{2304, 8, 26},
	},
	"glm": {
		make: newGLM, Heads: taggerHeads, Positions: Positions{Key: maxPositions, Default: 131072},
		Blocks: []string{"model.layers"}, Output: "lm_head", Suggested: qv, Quantizes: true, Dims: Dims{4096, 32, 40},
	},
	"glm4": {
		make: newGLM4, Heads: taggerHeads, Positions: Positions{Key: maxPositions, Default: 131072},
		Blocks: []string{"model.layers"}, Output: "lm_head", Suggested: qv, Quantizes: true, LigerToo: true, Dims: Dims{4096, 32, 40},
	},
	"glm4_moe": {
		make: newGLM4MoE, Heads: unsortedHeads, Positions: Positions{Key: maxPositions, Default: 131072},
		Blocks: []string{"model.layers"}, Output: "lm_head", Suggested: qv, Experts: true, Dims: Dims{4096, 96, 46},
	},
	"gpt2": {
		make: newGPT2, OwnLoss: ownLoss{until: 449}, Heads: taggerHeads, tokens: tokenHead{own: true}, Positions: Positions{Key: "n_positions", Default: 1024, Learned: true},
		Blocks: []string{"transformer.h"}, Output: "lm_head", LoRA: []string{"c_attn"}, LMHead: true, Quantizes: true, Dims: Dims{768, 12, 12},
	},
	"gpt_bigcode": {
		make: newGPTBigCode, OwnLoss: ownLoss{until: 448}, Heads: taggerHeads, tokens: tokenHead{own: true}, Positions: Positions{Key: "n_positions", Default: 1024, Learned: true},
		Blocks: []string{"transformer.h"}, Output: "lm_head", LoRA: []string{"c_attn"}, Quantizes: true, Dims: Dims{768, 12, 12},
	},
	"gpt_neo": {
		make: newGPTNeo, EagerBefore: never, OwnLoss: ownLoss{until: 448}, Heads: taggerHeads, tokens: tokenHead{own: true}, Positions: Positions{Key: maxPositions, Default: 2048, Learned: true},
		Blocks: []string{"transformer.h"}, Output: "lm_head", LoRA: qv, Quantizes: true, Dims: Dims{2048, 16, 24},
	},
	"gpt_neox": {
		make: newGPTNeoX, OwnLoss: ownLoss{until: 449}, Heads: taggerHeads, tokens: tokenHead{own: true, upcast: true}, Positions: Positions{Key: maxPositions, Default: 2048},
		Blocks: []string{"gpt_neox.layers"}, Output: "lm_head", LoRA: []string{"query_key_value"}, Quantizes: true, Dims: Dims{6144, 64, 44},
	},
	"gpt_oss": {
		make: newGPTOSS, EagerBefore: never, Heads: taggerHeads, Positions: Positions{Key: maxPositions, Default: 131072},
		Blocks: []string{"model.layers"}, Output: "lm_head", Suggested: qv, Experts: true, LigerToo: true, Dims: Dims{2880, 64, 36},
	},
	"gptj": {
		make: newGPTJ, EagerBefore: never, OwnLoss: ownLoss{until: 448}, Heads: decoderHeads, Positions: Positions{Key: "n_positions", Default: 2048, Learned: true},
		Blocks: []string{"transformer.h"}, Output: "lm_head", LoRA: qv, Quantizes: true, Dims: Dims{4096, 16, 28},
	},
	"granite": {
		make: newGranite, Heads: unsortedHeads, Positions: Positions{Key: maxPositions, Default: 2048},
		Blocks: []string{"model.layers"}, Output: "lm_head", Suggested: qv, Quantizes: true, Unsloth: true, LigerToo: true, Dims: Dims{4096, 32, 32},
	},
	"granitemoe": {
		make: newGraniteMoE, Heads: unsortedHeads, Positions: Positions{Key: maxPositions, Default: 2048},
		Blocks: []string{"model.layers"}, Output: "lm_head", Suggested: qv, Experts: true, Dims: Dims{4096, 32, 32},
	},
	"hunyuan_v1_dense": {
		make: newHunYuan, Heads: decoderHeads, Positions: Positions{Key: maxPositions, Default: 2048},
		Blocks: []string{"model.layers"}, Output: "lm_head", Suggested: qv, Quantizes: true, LigerToo: true, Dims: Dims{4096, 32, 32},
	},
	"internvl": {
		make: newInternVL, Heads: []string{CausalLM}, Positions: Positions{Key: maxPositions, Default: 32768}, Vision: tiledVision(internImage, internTile), LigerToo: true,
		Blocks: []string{"model.vision_tower.encoder.layer", "model.language_model.layers"}, Output: "lm_head", Suggested: qv, Quantizes: true, Dims: Dims{4096, 32, 32},
	},
	"llama": {
		make: newLlama, Torchtune: true, LitGPT: true, OwnLoss: ownLoss{until: 446, upcast: true}, Heads: taggerHeads, Positions: Positions{Key: maxPositions, Default: 2048},
		Blocks: []string{"model.layers"}, Output: "lm_head", LoRA: qv, Quantizes: true, Unsloth: true, Liger: true, Dims: Dims{4096, 32, 32},
	},
	"llava": {
		make: newLLaVA, Heads: []string{CausalLM}, Positions: Positions{Key: maxPositions, Default: 2048}, Vision: towerVision(llavaImage), LigerToo: true,
		Blocks: []string{"model.vision_tower.encoder.layers", "model.language_model.layers"}, Output: "lm_head", Suggested: qv, Quantizes: true, Dims: Dims{4096, 32, 32},
	},
	"llava_next": {
		make: newLLaVANext, Heads: []string{CausalLM}, Positions: Positions{Key: maxPositions, Default: 2048}, Vision: tiledVision(llavaNextImage, nil).called("", "image_sizes", ""),
		Blocks: []string{"model.vision_tower.encoder.layers", "model.language_model.layers"}, Output: "lm_head", Suggested: qv, Quantizes: true, Dims: Dims{4096, 32, 32},
	},
	"m2m_100": {
		make: newM2M100, Bare: true, Heads: []string{Seq2SeqLM}, Positions: Positions{Key: maxPositions, Default: 1024},
		Blocks: []string{"model.encoder.layers", "model.decoder.layers"}, Output: "lm_head", Suggested: qv, Dims: Dims{1024, 16, 12},
	},
	"mamba": {
		make: newMamba, Heads: []string{CausalLM}, ByToken: true, Faster: "mamba-ssm and causal-conv1d",
		Blocks: []string{"backbone.layers"}, Output: "lm_head",
	},
	"mamba2": {
		make: newMamba2, Heads: []string{CausalLM}, ByToken: true, Faster: "mamba-ssm and causal-conv1d",
		Blocks: []string{"backbone.layers"}, Output: "lm_head",
	},
	"marian": {
		make: newMarian, Bare: true, Heads: []string{Seq2SeqLM}, Positions: Positions{Key: maxPositions, Default: 1024, Learned: true},
		Blocks: []string{"model.encoder.layers", "model.decoder.layers"}, Output: "lm_head", Suggested: qv, Dims: Dims{1024, 16, 12},
	},
	"mbart": {
		make: newMBART, Bare: true, Heads: []string{Seq2SeqLM}, Positions: Positions{Key: maxPositions, Default: 1024, Learned: true},
		Blocks: []string{"model.encoder.layers", "model.decoder.layers"}, Output: "lm_head", Suggested: qv, Dims: Dims{1024, 16, 12},
	},
	"ministral": {
		make: newMinistral, Heads: taggerHeads, Positions: Positions{Key: maxPositions, Default: 131072},
		Blocks: []string{"model.layers"}, Output: "lm_head", Suggested: qv, Quantizes: true, LigerToo: true, Dims: Dims{4096, 32, 32},
	},
	"ministral3": {
		make: newMinistral3, Heads: taggerHeads, Positions: Positions{Key: maxPositions, Default: 262144},
		Blocks: []string{"model.layers"}, Output: "lm_head", Suggested: qv, Quantizes: true, Dims: Dims{4096, 32, 34},
	},
	"mistral": {
		make: newMistral, repeatsUntil: 448, Torchtune: true, LitGPT: true, OwnLoss: ownLoss{until: 448, upcast: true}, Heads: taggerHeads, Positions: Positions{Key: maxPositions, Default: 131072},
		Blocks: []string{"model.layers"}, Output: "lm_head", LoRA: qv, Quantizes: true, Unsloth: true, Liger: true, Dims: Dims{4096, 32, 32},
	},
	"mixtral": {
		make: newMixtral, repeatsUntil: 448, OwnLoss: ownLoss{until: 446, upcast: true}, Heads: taggerHeads, Positions: Positions{Key: maxPositions, Default: 131072},
		Blocks: []string{"model.layers"}, Output: "lm_head", LoRA: qv, Quantizes: true, Unsloth: true, Experts: true, Liger: true, Dims: Dims{4096, 32, 32},
	},
	"mllama": {
		make: newMllama, Heads: []string{CausalLM}, Positions: Positions{Key: maxPositions, Default: 131072}, Vision: mllamaVisionFacts(), LigerToo: true,
		Blocks: []string{"model.vision_model.transformer.layers", "model.vision_model.global_transformer.layers", "model.language_model.layers"}, Output: "lm_head", Suggested: qv, Quantizes: true, Dims: Dims{4096, 32, 40},
	},
	"modernbert": {
		make: newModernBert, Heads: encoderHeads, Positions: Positions{Key: maxPositions, Default: 8192},
		Blocks: []string{"model.layers", "layers"}, Output: "decoder", Answers: "classifier", Suggested: []string{"Wqkv"}, Quantizes: true, Dims: Dims{768, 12, 22},
	},
	"mpnet": {
		make: newMPNet, EagerBefore: never, Heads: encoderHeads, Positions: Positions{Key: maxPositions, Default: 512, Offset: 2, Learned: true}, late: true,
		Blocks: []string{"mpnet.encoder.layer", "encoder.layer"}, Output: "decoder", Classes: "out_proj", Suggested: []string{"q", "v"}, Quantizes: true, Dims: Dims{768, 12, 12},
	},
	"mpt": {
		make: newMPT, EagerBefore: never, OwnLoss: ownLoss{until: 448}, Heads: taggerHeads, tokens: tokenHead{own: true}, Positions: Positions{Key: "max_seq_len", Default: 2048, Learned: true},
		Blocks: []string{"transformer.blocks"}, Output: "lm_head", LoRA: []string{"Wqkv"}, Quantizes: true, Dims: Dims{2048, 16, 24},
	},
	"mt5": {
		make: newMT5, Bare: true, Heads: []string{Seq2SeqLM}, Positions: Positions{Key: "n_positions", Default: 1024},
		Blocks: []string{"encoder.block", "decoder.block"}, Output: "lm_head", LoRA: []string{"q", "v"}, Dims: Dims{512, 6, 8},
	},
	"multi-encoder": {
		make: newMultiEncoder, RowsMeasured: true, Heads: []string{Encoder}, Positions: Positions{Key: maxPositions, Default: 512, Learned: true},
		Dims: Dims{768, 12, 12},
	},
	"nanogpt": {
		make: newNanoGPT, Heads: []string{CausalLM}, Positions: Positions{Filled: true, Key: "block_size", Default: 1024}, late: true,
		Blocks: []string{"transformer.h"}, Output: "lm_head", Dims: Dims{768, 12, 12},
	},
	"nemotron": {
		make: newNemotron, Heads: taggerHeads, Positions: Positions{Key: maxPositions, Default: 4096},
		Blocks: []string{"model.layers"}, Output: "lm_head", Suggested: qv, Quantizes: true, LigerToo: true, Dims: Dims{6144, 48, 32},
	},
	"olmo": {
		make: newOLMo, OwnLoss: ownLoss{until: 448, upcast: true}, Heads: decoderHeads, Positions: Positions{Key: maxPositions, Default: 2048},
		Blocks: []string{"model.layers"}, Output: "lm_head", Suggested: qv, Quantizes: true, Dims: Dims{4096, 32, 32},
	},
	"olmo2": {
		make: newOLMo2, Heads: decoderHeads, Positions: Positions{Key: maxPositions, Default: 2048},
		Blocks: []string{"model.layers"}, Output: "lm_head", Suggested: qv, Quantizes: true, LigerToo: true, Dims: Dims{4096, 32, 32},
	},
	"olmo3": {
		make: newOLMo3, Heads: decoderHeads, Positions: Positions{Key: maxPositions, Default: 2048},
		Blocks: []string{"model.layers"}, Output: "lm_head", Suggested: qv, Quantizes: true, LigerToo: true, Dims: Dims{4096, 32, 32},
	},
	"olmoe": {
		make: newOLMoE, Heads: unsortedHeads, Positions: Positions{Key: maxPositions, Default: 4096},
		Blocks: []string{"model.layers"}, Output: "lm_head", Suggested: qv, Experts: true, Dims: Dims{2048, 16, 16},
	},
	"opt": {
		make: newOPT, OwnLoss: ownLoss{until: 449}, Heads: decoderHeads, Positions: Positions{Key: maxPositions, Default: 2048, Learned: true},
		Blocks: []string{"model.decoder.layers"}, Output: "lm_head", LoRA: qv, Quantizes: true, Dims: Dims{768, 12, 12},
	},
	"paligemma": {
		make: newPaliGemma, Heads: []string{CausalLM}, Positions: Positions{Key: maxPositions, Default: 8192}, Vision: towerVision(paliGemmaImage).called("token_type_ids", "", ""), LigerToo: true,
		Blocks: []string{"model.vision_tower.encoder.layers", "model.language_model.layers"}, Output: "lm_head", Suggested: qv, Quantizes: true, Dims: Dims{2048, 8, 18},
	},
	"pegasus": {
		make: newPegasus, Bare: true, Heads: []string{Seq2SeqLM}, Positions: Positions{Key: maxPositions, Default: 1024, Learned: true},
		Blocks: []string{"model.encoder.layers", "model.decoder.layers"}, Output: "lm_head", Suggested: qv, Dims: Dims{1024, 16, 12},
	},
	"phi": {
		make: newPhi, OwnLoss: ownLoss{until: 446, upcast: true}, Heads: taggerHeads, Positions: Positions{Key: maxPositions, Default: 2048},
		Blocks: []string{"model.layers"}, Output: "lm_head", LoRA: []string{"q_proj", "v_proj", "fc1", "fc2"}, Quantizes: true, Dims: Dims{2048, 32, 24},
	},
	"phi3": {
		make: newPhi3, repeatsUntil: 448, Unfused: "llama", OwnLoss: ownLoss{until: 446, upcast: true}, Heads: taggerHeads, Positions: Positions{Key: maxPositions, Default: 4096},
		Blocks: []string{"model.layers"}, Output: "lm_head", Suggested: []string{"qkv_proj"}, Quantizes: true, Liger: true, Dims: Dims{3072, 32, 32},
	},
	"qwen2": {
		make: newQwen2, repeatsUntil: 448, Torchtune: true, LitGPT: true, OwnLoss: ownLoss{until: 446, upcast: true}, Heads: taggerHeads, Positions: Positions{Key: maxPositions, Default: 32768},
		Blocks: []string{"model.layers"}, Output: "lm_head", LoRA: qv, Quantizes: true, Liger: true, Dims: Dims{4096, 32, 32},
	},
	"qwen2_5_vl": {
		make: newQwen25VL, Heads: []string{CausalLM}, Positions: Positions{Key: maxPositions, Default: 32768}, Vision: qwenVision(14), LigerToo: true,
		Blocks: []string{"model.visual.blocks", "model.language_model.layers"}, Output: "lm_head", Suggested: qv, Quantizes: true, Dims: Dims{8192, 64, 80},
	},
	"qwen3_vl": {
		make: newQwen3VL, Heads: []string{CausalLM}, Positions: Positions{Key: maxPositions, Default: 128000}, Vision: qwenVision(16, "model.visual.deepstack_merger_list"), LigerToo: true,
		Blocks: []string{"model.visual.blocks", "model.language_model.layers"}, Output: "lm_head", Suggested: qv, Quantizes: true, Dims: Dims{4096, 32, 32},
	},
	"qwen2_vl": {
		make: newQwen2VL, Heads: []string{CausalLM}, Positions: Positions{Key: maxPositions, Default: 32768}, Vision: qwenVision(14),
		Blocks: []string{"model.visual.blocks", "model.language_model.layers"}, Output: "lm_head", Suggested: qv, Quantizes: true, Dims: Dims{8192, 64, 80},
	},
	"qwen2_moe": {
		make: newQwen2MoE, repeatsUntil: 500, Heads: taggerHeads, Positions: Positions{Key: maxPositions, Default: 32768},
		Blocks: []string{"model.layers"}, Output: "lm_head", Suggested: qv, Experts: true, Dims: Dims{2048, 16, 24},
	},
	"qwen3": {
		make: newQwen3, Heads: taggerHeads, Positions: Positions{Key: maxPositions, Default: 32768},
		Blocks: []string{"model.layers"}, Output: "lm_head", LoRA: qv, Quantizes: true, Liger: true, Dims: Dims{4096, 32, 32},
	},
	"qwen3_moe": {
		make: newQwen3MoE, Heads: taggerHeads, Positions: Positions{Key: maxPositions, Default: 32768},
		Blocks: []string{"model.layers"}, Output: "lm_head", Suggested: qv, Quantizes: true, Experts: true, Liger: true, Dims: Dims{2048, 32, 24},
	},
	"qwen3_5_text": {
		make: newQwen35, Heads: decoderHeads, Faster: "flash-linear-attention and causal-conv1d", Positions: Positions{Key: maxPositions, Default: 32768},
		Blocks: []string{"model.layers"}, Output: "lm_head", Suggested: qv, Quantizes: true, LigerToo: true, Dims: Dims{4096, 16, 32},
	},
	"qwen3_next": {
		make: newQwen3Next, Heads: taggerHeads, Faster: "flash-linear-attention and causal-conv1d", Positions: Positions{Key: maxPositions, Default: 32768},
		Blocks: []string{"model.layers"}, Output: "lm_head", Suggested: qv, Experts: true, LigerToo: true, Dims: Dims{2048, 16, 48},
	},
	"roberta": {
		make: newRoberta, Heads: encoderHeads, Positions: Positions{Key: maxPositions, Default: 512, Offset: 2, Learned: true},
		Blocks: []string{"roberta.encoder.layer", "encoder.layer"}, Output: "decoder", Classes: "out_proj", LoRA: []string{"query", "value"}, Quantizes: true, Dims: Dims{768, 12, 12},
	},
	"segformer": {
		make: newSegformer, Bare: true, Heads: []string{SemanticSegmentation, ImageClassification}, Positions: Positions{Images: true, AnySize: true, Side: segformerSide},
		Blocks: []string{"segformer.stages"}, Suggested: qv,
	},
	"seed_oss": {
		make: newSeedOSS, Heads: taggerHeads, Positions: Positions{Key: maxPositions, Default: 524288},
		Blocks: []string{"model.layers"}, Output: "lm_head", Suggested: qv, Quantizes: true, Dims: Dims{4096, 80, 64},
	},
	"smollm3": {
		make: newSmolLM3, Heads: taggerHeads, Positions: Positions{Key: maxPositions, Default: 32768},
		Blocks: []string{"model.layers"}, Output: "lm_head", Suggested: qv, Quantizes: true, LigerToo: true, Dims: Dims{2048, 16, 36},
	},
	"stable-diffusion": {
		make: newStableDiffusion, Heads: []string{Diffusion}, Positions: Positions{Images: true}, late: true,
		LoRA: []string{"to_k", "to_q", "to_v", "to_out.0"}, // train_text_to_image_lora.py
	},
	"stablelm": {
		make: newStableLM, OwnLoss: ownLoss{until: 446, upcast: true}, Heads: taggerHeads, tokens: tokenHead{undropped: true}, Positions: Positions{Key: maxPositions, Default: 4096},
		Blocks: []string{"model.layers"}, Output: "lm_head", LoRA: qv, Quantizes: true, Dims: Dims{2560, 32, 32},
	},
	"starcoder2": {
		make: newStarcoder2, repeatsUntil: 448, OwnLoss: ownLoss{until: 448, upcast: true}, Heads: taggerHeads, Positions: Positions{Key: maxPositions, Default: 4096},
		Blocks: []string{"model.layers"}, Output: "lm_head", Suggested: qv, Quantizes: true, Dims: Dims{3072, 24, 30},
	},
	"swin": {
		make: newSwin, Bare: true, Heads: []string{ImageClassification}, Positions: Positions{Images: true, AnySize: true},
		Blocks: []string{"swin.encoder.layers"}, Output: "classifier", Suggested: qv,
	},
	"t5": {
		make: newT5, EagerBefore: t5SDPA, Bare: true, Heads: []string{Seq2SeqLM}, Positions: Positions{Key: "n_positions", Default: 512},
		Blocks: []string{"encoder.block", "decoder.block"}, Output: "lm_head", LoRA: []string{"q", "v"}, Dims: Dims{512, 8, 6},
	},
	"vit": {
		make: newViT, Bare: true, Heads: []string{ImageClassification}, Positions: Positions{Images: true},
		Blocks: []string{"vit.encoder.layer", "vit.layers"}, Output: "classifier",
	},
	"whisper": {
		make: newWhisper, Bare: true, Heads: []string{Seq2SeqLM}, Positions: Positions{Key: "max_target_positions", Default: 448, Learned: true, Sound: true},
		Blocks: []string{"model.encoder.layers", "model.decoder.layers"}, Output: "proj_out", Suggested: qv, Dims: Dims{384, 6, 4},
	},
	"xlm-roberta": {
		make: newXLMRoberta, Heads: encoderHeads, Positions: Positions{Key: maxPositions, Default: 512, Offset: 2, Learned: true},
		Blocks: []string{"roberta.encoder.layer", "encoder.layer"}, Output: "decoder", Classes: "out_proj", LoRA: []string{"query", "value"}, Quantizes: true, Dims: Dims{768, 12, 12},
	},
}

// torchvisionFacts applies to all torchvision models.
var torchvisionFacts = Facts{Heads: []string{ImageClassification}, Positions: Positions{Images: true}}

// Known lists the model types that have a family, sorted.
func Known() []string { return slices.Sorted(maps.Keys(families)) }

// FactsOf returns the facts of a model type, and whether the type is known.
func FactsOf(modelType string) (Facts, bool) {
	f, ok := families[modelType]
	return f, ok
}

// Torchvision returns the facts of the models that Named builds.
func Torchvision() Facts { return torchvisionFacts }

// Types lists the model types for which holds returns true, sorted.
func Types(holds func(Facts) bool) []string {
	var out []string
	for _, t := range Known() {
		if holds(families[t]) {
			out = append(out, t)
		}
	}
	return out
}

// Targets returns the layers that LoRA adapts by default.
func (f Facts) Targets() []string {
	if f.LoRA != nil {
		return f.LoRA
	}
	return f.Suggested
}

// prepare passes the facts to a builder.
func (f Facts) prepare(b *nn.Builder, run Run) {
	b.Output, b.Blocks = f.OutputOf(run.Head), f.Blocks
	b.WholeQuantized = Classifies(run.Head) && (run.Transformers == 0 || run.Transformers >= 500)
}

// OutputOf returns the last path component of the layer that computes a head's logits.
func (f Facts) OutputOf(head string) string {
	switch head {
	case SequenceClassification:
		if slices.Contains(f.Heads, CausalLM) {
			return "score"
		}
		return cmp.Or(f.Classes, "classifier")
	case TokenClassification:
		if slices.Contains(f.Heads, CausalLM) {
			return f.tokens.layer()
		}
		return "classifier"
	case MultipleChoice:
		return "classifier"
	case QuestionAnswering:
		return cmp.Or(f.Answers, "qa_outputs")
	}
	return f.Output
}
