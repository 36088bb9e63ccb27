// SPDX-License-Identifier: Apache-2.0

package snug

// Loop is the code around the model, which determines how long the model's results live: the name of a known loop,
// or the path of a Python file to read it from, followed by the script's arguments. The file is read from this
// machine, or through [WithFS] or [WithOpener].
type Loop string

// The loops known by name.
const (
	StepLoop       Loop = "step"                  // each step runs in its own function; the default
	ScriptLoop     Loop = "script"                // at the top level of a script, as in tutorials
	TrainerLoop    Loop = "trainer"               // transformers' Trainer
	AccelerateLoop Loop = "accelerate"            // accelerate's examples
	LightningLoop  Loop = "lightning"             // Lightning's Trainer
	FabricLoop     Loop = "fabric"                // Lightning's Fabric
	TRLLoop        Loop = "trl"                   // TRL's SFTTrainer
	DPOLoop        Loop = "trl-dpo"               // TRL's DPOTrainer; a sample is a pair of answers
	RewardLoop     Loop = "trl-reward"            // TRL's RewardTrainer, with pairs
	KTOLoop        Loop = "trl-kto"               // TRL's KTOTrainer
	ORPOLoop       Loop = "trl-orpo"              // TRL's ORPOTrainer, with pairs
	CPOLoop        Loop = "trl-cpo"               // TRL's CPOTrainer, with pairs; also SimPO
	GRPOLoop       Loop = "trl-grpo"              // TRL's GRPOTrainer
	AxolotlDPOLoop Loop = "axolotl-dpo"           // Axolotl's rl dpo and ipo
	FactoryDPOLoop Loop = "llama-factory-dpo"     // LLaMA-Factory's stage dpo; also ORPO and SimPO
	FactoryKTOLoop Loop = "llama-factory-kto"     // LLaMA-Factory's stage kto
	SentenceLoop   Loop = "sentence-transformers" // the library's trainer, for Encoder
	TimmLoop       Loop = "timm"                  // timm's train.py, for image models
	DiffusersLoop  Loop = "diffusers"             // diffusers' train_text_to_image.py and train_text_to_image_lora.py
	TorchtuneLoop  Loop = "torchtune"             // torchtune's recipes for one device
	LitGPTLoop     Loop = "litgpt"                // LitGPT's finetuning, with its own model
	NanoGPTLoop    Loop = "nanogpt"               // nanoGPT's train.py, with its own model
)

// Precision is the type of the weights and the arithmetic.
type Precision string

// The precisions. Autocast keeps float32 weights, unless Setup.Weights is set; the others store weights in the named
// type.
const (
	FP32    Precision = "fp32"     // float32 throughout, the default
	AmpBF16 Precision = "amp-bf16" // autocast in bfloat16
	AmpFP16 Precision = "amp-fp16" // autocast in float16, with a gradient scaler
	BF16    Precision = "bf16"     // weights, gradients and optimizer states in bfloat16
	FP16    Precision = "fp16"     // weights, gradients and optimizer states in float16
)

// DType is the type of the numbers in a tensor.
type DType string

// The types.
const (
	Float32  DType = "fp32" // 32 bits
	BFloat16 DType = "bf16" // 16 bits, with the range of float32
	Float16  DType = "fp16" // 16 bits, with a smaller range
	// Saved is the type used in the model's files. Only Setup.Weights accepts it.
	Saved DType = "saved"
)

// Optimizer names an optimizer and its implementation.
type Optimizer string

// The optimizers. A plain name is PyTorch's default, which is the foreach kernel if there is one; "fused" and "loop"
// (foreach=False) are its other kernels.
const (
	AdamW       Optimizer = "adamw"        // the default
	AdamWFused  Optimizer = "adamw-fused"  // AdamW in a single kernel
	AdamWLoop   Optimizer = "adamw-loop"   // AdamW, one parameter after another
	AdamW8Bit   Optimizer = "adamw-8bit"   // from bitsandbytes
	Adam        Optimizer = "adam"         // torch.optim.Adam
	AdamFused   Optimizer = "adam-fused"   // Adam in a single kernel
	AdamLoop    Optimizer = "adam-loop"    // Adam, one parameter after another
	AdamAmsgrad Optimizer = "adam-amsgrad" // Adam or AdamW with amsgrad
	Adamax      Optimizer = "adamax"       // torch.optim.Adamax
	NAdam       Optimizer = "nadam"        // torch.optim.NAdam
	RAdam       Optimizer = "radam"        // torch.optim.RAdam
	SGD         Optimizer = "sgd"          // torch.optim.SGD without momentum
	SGDMomentum Optimizer = "sgd-momentum" // torch.optim.SGD with momentum
	Adafactor   Optimizer = "adafactor"    // transformers' Adafactor
	Adagrad     Optimizer = "adagrad"      // torch.optim.Adagrad
	RMSprop     Optimizer = "rmsprop"      // torch.optim.RMSprop
	Lion        Optimizer = "lion"         // from lion-pytorch
	Lion8Bit    Optimizer = "lion-8bit"    // from bitsandbytes

	AdamWTorchAO8Bit Optimizer = "adamw-torchao-8bit" // from torchao
)

// Attention is an attention implementation.
type Attention string

// The implementations.
const (
	SDPA  Attention = "sdpa"  // torch.nn.functional.scaled_dot_product_attention, the default
	Eager Attention = "eager" // matrix products and a softmax as separate ops
	Flash Attention = "flash" // the flash-attn package; 16-bit precisions only
)

// Head is the task that a model is trained for.
type Head string

// The heads. The default is the one in the model's config, or else the usual one for the model.
const (
	CausalLM  Head = "causal-lm"  // predicts the next token
	MaskedLM  Head = "masked-lm"  // predicts masked tokens
	Seq2SeqLM Head = "seq2seq-lm" // predicts a decoder's next token
	// Encoder is a sentence encoder: mean pooling over tokens, normalization, and an in-batch softmax over the
	// similarities. It uses Setup.Positives and Setup.Negatives.
	Encoder              Head = "encoder"
	ImageClassification  Head = "image-classification"  // assigns each image to a class
	SemanticSegmentation Head = "semantic-segmentation" // assigns each pixel to a class
	Diffusion            Head = "diffusion"             // predicts the noise in images
	// SequenceClassification assigns each text to one of the config's num_labels classes. With one class, or
	// if problem_type in the config is regression or multi_label_classification, the labels are floats.
	SequenceClassification Head = "sequence-classification"
	// TokenClassification assigns each token to one of the classes.
	TokenClassification Head = "token-classification"
	// QuestionAnswering finds the first and the last token of an answer.
	QuestionAnswering Head = "question-answering"
	// MultipleChoice chooses one of several texts. It uses Setup.Choices.
	MultipleChoice Head = "multiple-choice"
)

// Reference is what a loop compares answers with.
type Reference string

// The references. The default is the loop's own.
const (
	ReferenceModel    Reference = "model"       // a second, frozen model
	ReferenceAdapters Reference = "adapters"    // the model without its adapters
	ReferenceBefore   Reference = "precomputed" // log-probabilities computed before training
	ReferenceNone     Reference = "none"        // no reference
)

// Loss selects the code that computes the loss of a causal model.
type Loss string

// The losses.
const (
	ModelLoss Loss = "model" // the model's own, which computes the logits of all tokens at once; the default
	TRLLoss   Loss = "trl"   // the loss of TRL's SFTTrainer (1.15 and later), computed in tiles
	LigerLoss Loss = "liger" // Liger's, computed a few rows at a time

	UnslothLoss Loss = "unsloth" // Unsloth's kernel, over the logits of all tokens
)

// UnslothLayer is a kind of layer that uses one of Unsloth's kernels.
type UnslothLayer string

// The kinds.
const (
	UnslothRope UnslothLayer = "rope" // the rotation of queries and keys
	UnslothNorm UnslothLayer = "norm" // the norms
	UnslothLoRA UnslothLayer = "lora" // the attention's quantized layers with their adapters
)

// Part is a part of a model with a vision tower.
type Part string

// The parts.
const (
	VisionTower Part = "vision"    // the tower that encodes the images
	Projector   Part = "projector" // the module that turns its hidden states into features: a projector or a merger
	Language    Part = "language"  // the text model, with its embeddings and its head
)

// LigerLayer is a kind of layer that Liger has kernels for.
type LigerLayer string

// The kinds.
const (
	LigerRope LigerLayer = "rope" // the rotation of queries and keys
	LigerNorm LigerLayer = "norm" // the norms
	LigerMLP  LigerLayer = "mlp"  // the activation between the matrix products of an MLP or an expert
	LigerAll  LigerLayer = "all"  // all of these
)

// Tuner is a method of PEFT.
type Tuner string

// The methods.
const (
	LoRATuner Tuner = "lora"    // the default
	IA3Tuner  Tuner = "ia3"     // vectors that scale the layers' inputs and outputs
	AdaLoRA   Tuner = "adalora" // low-rank matrices with singular values, kept orthogonal
	VeRA      Tuner = "vera"    // vectors that scale random matrices which all layers share
	LoHa      Tuner = "loha"    // elementwise products of two low-rank products
	LoKr      Tuner = "lokr"    // Kronecker products
	OFT       Tuner = "oft"     // rotations of the layers' inputs, in blocks

	PromptTuning Tuner = "prompt"   // embeddings of virtual tokens before the text
	PTuning      Tuner = "p-tuning" // the same, made by an MLP
	PrefixTuning Tuner = "prefix"   // keys and values of virtual tokens in every layer
)

// QuantType is the number format of a 4-bit weight.
type QuantType string

// The types.
const (
	NF4 QuantType = "nf4" // the default
	FP4 QuantType = "fp4" // 4-bit floating point
)

// QuantMethod is a library that quantizes weights.
type QuantMethod string

// The methods.
const (
	BitsAndBytes QuantMethod = "bitsandbytes" // the default: weights are quantized while they are loaded
	GPTQ         QuantMethod = "gptq"         // weights are already quantized
	AWQ          QuantMethod = "awq"          // the same, in another layout
)

// GPTQKernel is an implementation of layers with weights quantized by GPTQ.
type GPTQKernel string

// The implementations.
const (
	GPTQModel GPTQKernel = "gptqmodel" // the default: GPTQModel's layers, which transformers uses
	TritonV2  GPTQKernel = "triton-v2" // the Triton kernels of AutoGPTQ and fms-acceleration
)

// DistKind is a way to distribute a run over GPUs.
type DistKind string

// The kinds.
const (
	DDP            DistKind = "ddp"             // DistributedDataParallel
	FSDP1          DistKind = "fsdp1"           // FullyShardedDataParallel
	FSDP2          DistKind = "fsdp2"           // fully_shard
	FSDP2NoReshard DistKind = "fsdp2-noreshard" // fully_shard with reshard_after_forward=False
	Zero1          DistKind = "zero1"           // PyTorch's ZeroRedundancyOptimizer
	Zero1DeepSpeed DistKind = "zero1-deepspeed" // DeepSpeed's ZeRO, stage 1
	Zero2          DistKind = "zero2"           // DeepSpeed's ZeRO, stage 2
	Zero3          DistKind = "zero3"           // DeepSpeed's ZeRO, stage 3
)

// DistLoad is how a sharded run loads its weights.
type DistLoad string

// The ways to load.
const (
	LoadWhole   DistLoad = "whole"   // every GPU first holds the whole model; the default for FSDP2
	LoadSharded DistLoad = "sharded" // no GPU ever holds the whole model (meta device, zero.Init); the default for FSDP1 and ZeRO-3
)

// AllLinear, as a LoRA target, means every linear layer except the head, as in PEFT.
const AllLinear = "all-linear"

// Goal is what [Optimize] aims for.
type Goal string

// The goals.
const (
	Throughput Goal = "throughput" // the most samples per second; the default
	Balanced   Goal = "balanced"   // the most samples per second within 80 % of the card
	Quick      Goal = "quick"      // changes only batch and accumulation, within half the card
)

// Source is the origin of the figures in an [Answer].
type Source string

// The sources.
const (
	Simulated Source = "simulated" // the run was simulated op by op
	Recorded  Source = "recorded"  // the figures come from a profile
)
