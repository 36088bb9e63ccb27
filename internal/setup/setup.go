// SPDX-License-Identifier: Apache-2.0

// Package setup describes training runs: the model, the batch and the settings, as users write them in a
// file or as flags. It decodes and checks them and fills in defaults. It simulates nothing.
package setup

import "fmt"

import "snug/internal/safetensors"

// Setup describes one training run.
type Setup struct {
	ID            string        `json:"id,omitempty"`             // any text, copied to the answer
	Model         Model         `json:"model"`                    // the model to train
	Batch         int           `json:"batch"`                    // samples per GPU in each forward pass: the micro-batch
	Seq           int           `json:"seq,omitempty"`            // tokens per sample
	TargetSeq     int           `json:"target_seq,omitempty"`     // decoder tokens per sample, for seq2seq models
	Resolution    int           `json:"resolution,omitempty"`     // width and height of the images in pixels, for diffusion models
	Lengths       *Lengths      `json:"lengths,omitempty"`        // sample lengths, if they vary; Seq is then the longest
	Seed          int           `json:"seed,omitempty"`           // seed for drawing lengths
	Tokenizer     string        `json:"tokenizer,omitempty"`      // the tokenizer.json used to count tokens if Lengths has texts
	Loop          string        `json:"loop,omitempty"`           // the code around the model: one of Loops, or a Python file with its arguments
	Images        int           `json:"images,omitempty"`         // images per sample, for a model with a vision tower; Seq includes their tokens
	ImageSize     int           `json:"image_size,omitempty"`     // height of the images in pixels, and their width unless ImageWidth is given
	ImageWidth    int           `json:"image_width,omitempty"`    // width of the images, if they are not square
	Freeze        []string      `json:"freeze,omitempty"`         // parts that are not trained: "vision", "projector", "language"
	Positives     int           `json:"positives,omitempty"`      // positive samples per anchor, in contrastive training
	Negatives     int           `json:"negatives,omitempty"`      // negative samples per anchor
	Choices       int           `json:"choices,omitempty"`        // texts to choose from per sample, for multiple-choice models
	Completion    int           `json:"completion,omitempty"`     // tokens of a sample that belong to the answer, if answers are compared; 0 means half
	Reference     string        `json:"reference,omitempty"`      // what answers are compared with: one of References; "" means the loop's own
	Precision     string        `json:"precision,omitempty"`      // the type of the weights and the arithmetic
	Weights       string        `json:"weights,omitempty"`        // the type of the weights under autocast, if not float32; with LoRA, of the frozen weights
	Optimizer     string        `json:"optimizer,omitempty"`      // the optimizer
	Checkpointing bool          `json:"checkpointing,omitempty"`  // whether activations are recomputed in the backward pass
	UseReentrant  *bool         `json:"use_reentrant,omitempty"`  // whether checkpointing is reentrant; nil means the default of transformers
	Loss          string        `json:"loss,omitempty"`           // the code that computes the loss from the last hidden states, if not the model's own
	Liger         []string      `json:"liger,omitempty"`          // the layers that use Liger's kernels: "rope", "norm", "mlp"
	Unsloth       []string      `json:"unsloth,omitempty"`        // the layers that use Unsloth's kernels: "rope", "norm", "lora"
	Attention     string        `json:"attention,omitempty"`      // the implementation: "sdpa", "eager", "flash"
	AttentionMask *bool         `json:"attention_mask,omitempty"` // whether the batch includes a mask; nil means true
	Accumulation  int           `json:"accumulation,omitempty"`   // forward passes per optimizer step
	Clip          bool          `json:"clip,omitempty"`           // whether the gradient norm is clipped
	Compile       bool          `json:"compile,omitempty"`        // whether the model runs under torch.compile, which is not simulated
	Evaluation    *Evaluation   `json:"evaluation,omitempty"`     // the evaluation between steps; nil means none
	SetToNone     *bool         `json:"set_to_none,omitempty"`    // whether zero_grad frees gradients instead of zeroing them; nil means PyTorch's default, true
	LoRA          *LoRA         `json:"lora,omitempty"`           // adapters; nil means that all weights are trained
	Quantization  *Quantization `json:"quantization,omitempty"`   // quantization of the weights frozen by LoRA; nil means none
	Allocator     string        `json:"allocator,omitempty"`      // a PYTORCH_CUDA_ALLOC_CONF string
	Dist          *Dist         `json:"dist,omitempty"`           // how the run is distributed over GPUs; nil means one GPU
	Limit         uint64        `json:"limit,omitempty"`          // the most memory that PyTorch may reserve, in bytes; 0 means no limit
	Versions      Versions      `json:"versions,omitzero"`        // the installed libraries
	Steps         int           `json:"steps,omitempty"`          // optimizer steps to simulate

	Script         *Script            `json:"-"` // the script of Loop; nil for StepLoop
	Sizes          map[string]int     `json:"-"` // quantities that a profile varies and that have no field
	Loaded         string             `json:"-"` // Weights as written, before the model's files were read: a type, or Saved
	Loads          map[string]Loading `json:"-"` // how the run's files would load weights, by precision, if requested
	Guessed        bool               `json:"-"` // the saved type of the weights is unknown
	Unverified     []string           `json:"-"` // fields that the profile cannot confirm; no figure depends on them
	SkippedUpdates int                `json:"-"` // updates that a measured run is known to have skipped at its start
	LoopAssumed    bool               `json:"-"` // no loop was named, and LitGPT's was assumed
	LossChunks     int                `json:"-"` // number of chunks in which a causal loss is computed; set by a lever, not by files
}

// KeepsGradients reports whether gradients are kept between steps.
func (s *Setup) KeepsGradients() bool { return s.SetToNone != nil && !*s.SetToNone }

// Model identifies the model to train. Exactly one of its sources is given.
type Model struct {
	Config  map[string]any `json:"config,omitempty"`  // the contents of a config.json
	Name    string         `json:"name,omitempty"`    // a built-in name or the path of a config.json
	Profile string         `json:"profile,omitempty"` // the path of a profile
	Head    string         `json:"head,omitempty"`    // the task: one of the family's heads
	Code    bool           `json:"-"`                 // the loop's script builds the model from PyTorch's modules

	Weights *safetensors.Header `json:"-"` // the header of the weight files next to the config, if any
	Program Program             `json:"-"` // the contents of Profile

	Classes  int    `json:"-"` // classes that a script gives an image model without a config; 0 for the usual number
	TakenFor string `json:"-"` // the built-in model of the same name whose config is used; "" if the name itself is known
}

// AllLinear, as a LoRA target, means every linear layer except the head, as in PEFT.
const AllLinear = "all-linear"

// LoRA freezes everything except low-rank adapters on the named linear layers.
type LoRA struct {
	Rank        int      `json:"rank"`                        // rank of the adapters
	Alpha       float64  `json:"alpha,omitempty"`             // scales the adapters' output; no effect on memory
	Dropout     float64  `json:"dropout,omitempty"`           // dropout on the adapters' input
	Targets     []string `json:"targets"`                     // names of the linear layers, or AllLinear
	PEFT        bool     `json:"peft,omitempty"`              // as in PEFT: adapters in float32, with inputs cast to float32
	DoRA        bool     `json:"dora,omitempty"`              // PEFT's use_dora: the magnitudes of the weight rows are trained too
	Feedforward []string `json:"feedforward,omitempty"`       // IA3's targets whose inputs are scaled
	Tuner       string   `json:"tuner,omitempty"`             // PEFT's method: one of Tuners; "" means LoRA
	Virtual     int      `json:"virtual_tokens,omitempty"`    // virtual tokens per sample: prompt tuning, p-tuning, prefix tuning
	Encoder     int      `json:"encoder_hidden,omitempty"`    // width of the MLP that makes them; 0 means PEFT's default
	Block       int      `json:"oft_block_size,omitempty"`    // OFT's block size
	Projection  bool     `json:"prefix_projection,omitempty"` // PEFT's prefix_projection: an MLP makes the prefix
	Save        []string `json:"save,omitempty"`              // layers that are trained in full besides the adapters: PEFT's modules_to_save
}

// Versions are the versions of the installed libraries; empty means the newest known.
type Versions struct {
	Torch        string `json:"torch,omitempty"`        // release: "2.11"
	Transformers string `json:"transformers,omitempty"` // release: "5.17"
	CUDA         string `json:"cuda,omitempty"`         // release: "13.0"
	BitsAndBytes string `json:"bitsandbytes,omitempty"` // before 0.50, every weight was dequantized
	PEFT         string `json:"peft,omitempty"`         // release: "0.21"
	TRL          string `json:"trl,omitempty"`          // before 1.15, the loss was computed in other pieces
	Accelerate   string `json:"accelerate,omitempty"`   // release: "1.15"
}

// Rows returns the number of model inputs per sample: an anchor, its positives and its negatives, or the texts to
// choose from.
func (s *Setup) Rows() int { return max(s.Choices, 1+s.Positives+s.Negatives) }

// timesRows describes the rows per sample for a sentence about a product, if there are several.
func (s *Setup) timesRows() string {
	switch {
	case s.Rows() == 1:
		return ""
	case s.Choices > 0:
		return fmt.Sprintf(" times %d choices", s.Choices)
	}
	return fmt.Sprintf(" times %d rows of anchor, positives and negatives", s.Rows())
}
