// SPDX-License-Identifier: Apache-2.0

package snug

// Setup describes one training run. Model and Batch are required, and Seq or Lengths for text. Any other field that
// is zero has the default of PyTorch or transformers. In JSON it is an object with the names below, which `snug
// estimate --setup` reads.
type Setup struct {
	// ID is any text, copied to the answer.
	ID string `json:"id,omitempty"`
	// Model is the model to train.
	Model Model `json:"model"`
	// Batch is the number of samples per GPU per forward pass: the micro-batch.
	Batch int `json:"batch"`
	// Seq is the number of tokens per sample. Text needs it, or Lengths; only nanoGPT has a default, its block size.
	Seq int `json:"seq,omitempty"`
	// TargetSeq is the number of decoder tokens per sample, for Seq2SeqLM; the default is Seq.
	TargetSeq int `json:"target_seq,omitempty"`
	// Lengths gives the sample lengths if they vary, in place of Seq. With a file of lengths, longer samples are
	// truncated to Seq.
	Lengths Lengths `json:"lengths,omitempty"`
	// Tokenizer is the path of a tokenizer.json, used to count tokens if the Lengths file contains texts.
	Tokenizer string `json:"tokenizer,omitempty"`
	// Seed is the random seed for drawing lengths.
	Seed int `json:"seed,omitempty"`
	// Loop is the code around the model, which determines how long the model's results live.
	Loop Loop `json:"loop,omitempty"`
	// Images is the number of images per sample, for models with a vision tower; Seq includes their tokens.
	Images int `json:"images,omitempty"`
	// ImageSize is the height of the images in pixels, after resizing, and their width unless ImageWidth is given.
	// Models whose processor resizes every image to the same size need neither.
	ImageSize int `json:"image_size,omitempty"`
	// ImageWidth is the width of the images, if they are not square.
	ImageWidth int `json:"image_width,omitempty"`
	// Freeze lists the parts of a model with a vision tower that are not trained and get no adapters.
	Freeze []Part `json:"freeze,omitempty"`
	// Positives is the number of positive samples per anchor, for Encoder.
	Positives int `json:"positives,omitempty"`
	// Negatives is the number of negative samples per anchor, for Encoder.
	Negatives int `json:"negatives,omitempty"`
	// Choices is the number of texts to choose from per sample, for MultipleChoice; 0 means 4, as in SWAG.
	Choices int `json:"choices,omitempty"`
	// Resolution is the width and height of the images in pixels, for diffusion models; 0 means 512.
	Resolution int `json:"resolution,omitempty"`
	// Completion is the number of tokens in a sample that belong to the answer, for loops that compare answers; 0
	// means half of them.
	Completion int `json:"completion,omitempty"`
	// Reference is what answers are compared with, for loops that compare answers.
	Reference Reference `json:"reference,omitempty"`
	// Precision is the type of the weights and the arithmetic.
	Precision Precision `json:"precision,omitempty"`
	// Weights is the type in which weights are loaded under autocast, if not float32. With LoRA it is the type of the
	// frozen weights.
	Weights DType `json:"weights,omitempty"`
	// Optimizer updates the weights.
	Optimizer Optimizer `json:"optimizer,omitempty"`
	// Checkpointing is gradient checkpointing: activations are recomputed in the backward pass.
	Checkpointing bool `json:"checkpointing,omitempty"`
	// UseReentrant selects reentrant checkpointing, like the use_reentrant argument of
	// torch.utils.checkpoint; nil means the default of the transformers release.
	UseReentrant *bool `json:"use_reentrant,omitempty"`
	// Loss selects the code that computes the loss of a causal model.
	Loss Loss `json:"loss,omitempty"`
	// Liger lists the layers that use Liger's kernels.
	Liger []LigerLayer `json:"liger,omitempty"`
	// Unsloth lists the layers that use Unsloth's kernels, as fms-acceleration installs them.
	Unsloth []UnslothLayer `json:"unsloth,omitempty"`
	// Attention is the attention implementation.
	Attention Attention `json:"attention,omitempty"`
	// AttentionMask says whether the batch includes an attention mask; nil means true.
	AttentionMask *bool `json:"attention_mask,omitempty"`
	// Accumulation is the number of forward passes per optimizer step; 0 means 1.
	Accumulation int `json:"accumulation,omitempty"`
	// Clip says whether the gradient norm is clipped.
	Clip bool `json:"clip,omitempty"`
	// Compile says whether the model runs under torch.compile. The figures are for the run without it, which usually
	// takes more memory.
	Compile bool `json:"compile,omitempty"`
	// Evaluation describes forward passes without gradients between steps; nil means none.
	Evaluation *Evaluation `json:"evaluation,omitempty"`
	// SetToNone says whether zero_grad drops gradients instead of filling them with zeros;
	// nil means true.
	SetToNone *bool `json:"set_to_none,omitempty"`
	// LoRA trains adapters and freezes everything else.
	LoRA *LoRA `json:"lora,omitempty"`
	// Quantization describes how the weights frozen by LoRA are quantized.
	Quantization *Quantization `json:"quantization,omitempty"`
	// Allocator is a PYTORCH_CUDA_ALLOC_CONF string.
	Allocator string `json:"allocator,omitempty"`
	// Dist distributes the run over GPUs. Figures are for one GPU.
	Dist *Dist `json:"dist,omitempty"`
	// Limit is the most memory that PyTorch may reserve, like set_per_process_memory_fraction; 0 means no limit.
	Limit Bytes `json:"limit,omitempty"`
	// Versions are the versions of the installed libraries.
	Versions Versions `json:"versions,omitzero"`
	// Steps is the number of optimizer steps to simulate; 0 means 3, after which memory has settled, or 40 if lengths
	// are drawn.
	Steps int `json:"steps,omitempty"`

	// Sizes are the quantities that a profile varies and that have no field here. In JSON each is a field of the
	// setup.
	Sizes map[string]int `json:"-"`
}

// Lengths is one of: the tokens of each step's batch, such as "512,384,640"; a distribution of sample lengths,
// "uniform:64-512", "lognormal:160,0.6,1024" (median, sigma, longest) or "histogram:64=0.2,512=0.8"; or the name of a
// file with one sample per line. With a distribution, each batch is as long as its longest sample.
type Lengths string

// Model selects the model to train. Set exactly one of Name, Config, ConfigFile and Profile.
type Model struct {
	// Name is a built-in name such as "llama-3.2-1b" or "torchvision/resnet50", its organization/name on the hub, or
	// any name that the hub of [WithHub] knows.
	Name string
	// Config is the contents of a Hugging Face config.json. Missing keys have the defaults of their model_type.
	Config map[string]any
	// ConfigFile is the path of a config.json or its folder. The weight files next to it determine the saved type. In
	// JSON it is a string in place of the Config object.
	ConfigFile string
	// Profile is the path of a profile.
	Profile string
	// Head is the task that the model is trained for.
	Head Head
}

// LoRA freezes everything except low-rank adapters on the named linear layers.
type LoRA struct {
	// Rank is the rank of the adapters. It is required, except with the tuners that have none.
	Rank int `json:"rank,omitempty"`
	// Alpha scales the adapters' output. It does not affect memory.
	Alpha float64 `json:"alpha,omitempty"`
	// Dropout is the dropout probability of the adapters' input. Above 0, the mask takes memory.
	Dropout float64 `json:"dropout,omitempty"`
	// Targets are the linear layers that get an adapter, such as "q_proj", or AllLinear. They may be omitted if PEFT
	// has defaults for the model.
	Targets []string `json:"targets,omitempty"`
	// PEFT says whether the PEFT library makes the adapters, which are then float32, with inputs cast to match. It is
	// implied if Targets is empty.
	PEFT bool `json:"peft,omitempty"`
	// Tuner is PEFT's method; the default is LoRATuner. IA3Tuner and the tuners with virtual tokens have no Rank.
	Tuner Tuner `json:"tuner,omitempty"`
	// VirtualTokens is the number of virtual tokens that PromptTuning, PTuning and PrefixTuning add to each sample.
	VirtualTokens int `json:"virtual_tokens,omitempty"`
	// EncoderHidden is the width of PTuning's encoder, or of PrefixTuning's with Projection. The default is that of the model's
	// embeddings or, for a prefix, of its keys.
	EncoderHidden int `json:"encoder_hidden,omitempty"`
	// Projection is PrefixTuning's prefix_projection: an MLP computes the prefix from embeddings.
	Projection bool `json:"prefix_projection,omitempty"`
	// OFTBlockSize is the size of the blocks that OFT rotates; the default is 32.
	OFTBlockSize int `json:"oft_block_size,omitempty"`
	// Feedforward lists the targets whose inputs IA3 scales, instead of their outputs.
	Feedforward []string `json:"feedforward,omitempty"`
	// DoRA is PEFT's use_dora.
	DoRA bool `json:"dora,omitempty"`
	// Save lists the layers that are trained in full along with the adapters: PEFT's modules_to_save.
	Save []string `json:"save,omitempty"`
}

// Evaluation describes the forward passes without gradients that a run makes between steps.
type Evaluation struct {
	// Batch is the number of samples per forward pass; 0 means the training batch.
	Batch int `json:"batch,omitempty"`
	// Every is the number of optimizer steps between evaluations; 0 means a single evaluation, after memory has
	// settled.
	Every int `json:"every,omitempty"`
	// Batches is the number of forward passes in one evaluation; 0 means 4.
	Batches int `json:"batches,omitempty"`
	// KeepsLogits says whether the logits of all batches stay on the card until the evaluation ends.
	KeepsLogits bool `json:"keeps_logits,omitempty"`
}

// Quantization describes quantized frozen weights with PEFT adapters on top: QLoRA, if bitsandbytes quantizes them. The
// fields are those of transformers' BitsAndBytesConfig and GPTQConfig.
type Quantization struct {
	// Bits must be 4 or 8; GPTQ also has 2 and 3, and AWQ only 4.
	Bits int `json:"bits"`
	// Method is the library that quantized the weights; the default is BitsAndBytes.
	Method QuantMethod `json:"method,omitempty"`
	// Group is how many inputs share a scale in weights quantized by GPTQ or AWQ: 128 by default, -1 for all of them.
	Group int `json:"group_size,omitempty"`
	// Kernel says which layers compute with weights quantized by GPTQ; the default is GPTQModel.
	Kernel GPTQKernel `json:"kernel,omitempty"`
	// Type is the number format of the bits.
	Type QuantType `json:"type,omitempty"`
	// Double says whether the scales are quantized too.
	Double bool `json:"double,omitempty"`
	// Compute is the type in which products are computed; the default is BFloat16.
	Compute DType `json:"compute,omitempty"`
	// Prepare says whether PEFT's prepare_model_for_kbit_training casts the unquantized weights to float32.
	Prepare bool `json:"prepare,omitempty"`
	// CastBack says whether norms, embeddings and head are then cast back, as Axolotl does.
	CastBack bool `json:"cast_back,omitempty"`
	// Adapters is the type that the adapters are cast to, as in TRL; the default is Float32.
	Adapters DType `json:"adapters,omitempty"`
}

// Dist describes how a run is distributed over GPUs.
type Dist struct {
	// Kind is the distribution strategy; empty means DDP.
	Kind DistKind `json:"kind"`
	// World is the number of GPUs. It is required.
	World int `json:"world"`
	// BucketView is DDP's gradient_as_bucket_view.
	BucketView bool `json:"bucket_view,omitempty"`
	// ParamDType is the type of the parameters that FSDP gathers.
	ParamDType DType `json:"param_dtype,omitempty"`
	// ReduceDType is the type in which FSDP reduces gradients.
	ReduceDType DType `json:"reduce_dtype,omitempty"`
	// Load is how FSDP and ZeRO-3 load their weights.
	Load DistLoad `json:"load,omitempty"`
}

// Versions are the versions of the installed libraries, such as "2.11". An empty Torch means the newest release with
// measured runs; an empty Transformers means the release usually installed with that PyTorch.
type Versions struct {
	Torch        string `json:"torch,omitempty"`        // PyTorch, such as "2.11"
	Transformers string `json:"transformers,omitempty"` // such as "5.17"
	CUDA         string `json:"cuda,omitempty"`         // such as "13.0"
	BitsAndBytes string `json:"bitsandbytes,omitempty"` // such as "0.50"
	PEFT         string `json:"peft,omitempty"`         // such as "0.21"
	TRL          string `json:"trl,omitempty"`          // such as "1.16"
	Accelerate   string `json:"accelerate,omitempty"`   // such as "1.15"
}
