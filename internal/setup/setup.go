// SPDX-License-Identifier: Apache-2.0

// Package setup describes training runs: the model, the batch and the settings, as users write them in a
// file or as flags. It decodes and checks them and fills in defaults. It simulates nothing.
package setup

import "fmt"

import "snug/internal/safetensors"

// Setup describes one training run.
type Setup struct {
	ID            string        `json:"id,omitempty"`             // any text; it is copied to the answer
	Model         Model         `json:"model"`                    // what is trained
	Batch         int           `json:"batch"`                    // samples per GPU and forward pass: the micro-batch
	Seq           int           `json:"seq,omitempty"`            // tokens per sample
	TargetSeq     int           `json:"target_seq,omitempty"`     // tokens of the decoder per sample, for seq2seq models
	Lengths       *Lengths      `json:"lengths,omitempty"`        // lengths of samples, if they vary; Seq is then the longest
	Seed          int           `json:"seed,omitempty"`           // seed of random lengths
	Tokenizer     string        `json:"tokenizer,omitempty"`      // the tokenizer.json that counts the tokens of the texts in Lengths
	Loop          string        `json:"loop,omitempty"`           // the code around the model: one of Loops, or a Python file with its arguments
	Positives     int           `json:"positives,omitempty"`      // positive samples per anchor, in contrastive training
	Negatives     int           `json:"negatives,omitempty"`      // negative samples per anchor
	Completion    int           `json:"completion,omitempty"`     // tokens of a sample that are its answer, if answers are compared; 0 means half of them
	Reference     string        `json:"reference,omitempty"`      // what answers are compared against: one of References; "" means what the loop does by itself
	Precision     string        `json:"precision,omitempty"`      // the type of weights and arithmetic
	Weights       string        `json:"weights,omitempty"`        // their type under autocast, if it is not float32; with LoRA, the type of the frozen weights
	Optimizer     string        `json:"optimizer,omitempty"`      // the optimizer
	Checkpointing bool          `json:"checkpointing,omitempty"`  // whether activations are recomputed in the backward pass
	UseReentrant  *bool         `json:"use_reentrant,omitempty"`  // whether checkpointing is reentrant; nil means transformers' default
	Loss          string        `json:"loss,omitempty"`           // which code computes it from the last hidden states, if not the model's own
	Liger         []string      `json:"liger,omitempty"`          // the layers that Liger runs: "rope", "norm", "mlp"
	Attention     string        `json:"attention,omitempty"`      // its implementation: "sdpa", "eager", "flash"
	AttentionMask *bool         `json:"attention_mask,omitempty"` // whether the batch carries a mask; nil means true
	Accumulation  int           `json:"accumulation,omitempty"`   // forward passes per optimizer step
	Clip          bool          `json:"clip,omitempty"`           // whether the gradient norm is clipped
	Compile       bool          `json:"compile,omitempty"`        // whether the model runs under torch.compile, which is not simulated
	Evaluation    *Evaluation   `json:"evaluation,omitempty"`     // between steps; nil means none
	SetToNone     *bool         `json:"set_to_none,omitempty"`    // whether zero_grad drops gradients, or fills them and keeps them; nil means PyTorch's default, true
	LoRA          *LoRA         `json:"lora,omitempty"`           // adapters; nil trains all weights
	Quantization  *Quantization `json:"quantization,omitempty"`   // quantization of the weights that LoRA freezes; nil means none
	Allocator     string        `json:"allocator,omitempty"`      // a PYTORCH_ALLOC_CONF string
	Dist          *Dist         `json:"dist,omitempty"`           // how the run is spread over GPUs; nil means one GPU
	Limit         uint64        `json:"limit,omitempty"`          // the most bytes that PyTorch may reserve; 0 means no limit
	Versions      Versions      `json:"versions,omitzero"`        // the installed libraries
	Steps         int           `json:"steps,omitempty"`          // optimizer steps to simulate

	Script      *Script            `json:"-"` // the script of Loop; nil for StepLoop
	Sizes       map[string]int     `json:"-"` // quantities that a profile varies and that have no field
	Loaded      string             `json:"-"` // Weights as written, before the model's files were read: a type, or Saved
	Loads       map[string]Loading `json:"-"` // how its files would load weights, by precision, if that was asked
	Guessed     bool               `json:"-"` // the saved type of the weights is not known
	Unverified  []string           `json:"-"` // fields that the profile cannot confirm; no figure depends on them
	LeftOut     int                `json:"-"` // updates at the start that a measured run is known to have skipped
	LoopAssumed bool               `json:"-"` // no loop was named, and the run is taken for LitGPT's
	LossChunks  int                `json:"-"` // chunks in which a causal loss is computed; a lever sets it, files do not
}

// KeepsGradients reports whether gradients are kept between steps.
func (s *Setup) KeepsGradients() bool { return s.SetToNone != nil && !*s.SetToNone }

// Model names the model that is trained. Exactly one of its sources is given.
type Model struct {
	Config  map[string]any `json:"config,omitempty"`  // the contents of a config.json
	Name    string         `json:"name,omitempty"`    // a built-in name or the path of a config.json
	Profile string         `json:"profile,omitempty"` // the path of a profile
	Head    string         `json:"head,omitempty"`    // the task: one of the family's heads

	Weights *safetensors.Header `json:"-"` // the header of the weights next to the config, if there are any
	Program Program             `json:"-"` // the contents of Profile

	TakenFor string `json:"-"` // the built-in model of the same name whose config is used; "" if the name is known
}

// AllLinear as a target of LoRA means every linear layer except the head, as in PEFT.
const AllLinear = "all-linear"

// LoRA freezes all but low-rank adapters on the named linear layers.
type LoRA struct {
	Rank    int      `json:"rank"`              // of the adapters' matrices
	Alpha   float64  `json:"alpha,omitempty"`   // scales the adapters' output; no effect on memory
	Dropout float64  `json:"dropout,omitempty"` // on the adapters' input
	Targets []string `json:"targets"`           // names of the linear layers, or AllLinear
	PEFT    bool     `json:"peft,omitempty"`    // as PEFT does it: adapters in float32, inputs cast to that
	DoRA    bool     `json:"dora,omitempty"`    // PEFT's use_dora: the lengths of the weights' rows are trained too
	Save    []string `json:"save,omitempty"`    // layers that are trained in full besides the adapters: PEFT's modules_to_save
}

// Versions are the installed libraries; empty means the newest known.
type Versions struct {
	Torch        string `json:"torch,omitempty"`        // release: "2.11"
	Transformers string `json:"transformers,omitempty"` // release: "5.17"
	CUDA         string `json:"cuda,omitempty"`         // release: "13.0"
	BitsAndBytes string `json:"bitsandbytes,omitempty"` // before 0.50 it dequantized every weight
	PEFT         string `json:"peft,omitempty"`         // release: "0.21"
	TRL          string `json:"trl,omitempty"`          // before 1.15 it computed its loss in other pieces
	Accelerate   string `json:"accelerate,omitempty"`   // release: "1.15"
}

// Rows returns how many rows the model sees for each sample: an anchor, its positives and its negatives.
func (s *Setup) Rows() int { return 1 + s.Positives + s.Negatives }

// timesRows returns the rows of a sample for a sentence about a product, if there are several.
func (s *Setup) timesRows() string {
	if s.Rows() == 1 {
		return ""
	}
	return fmt.Sprintf(" times %d rows of anchor, positives and negatives", s.Rows())
}
