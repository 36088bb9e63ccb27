// SPDX-License-Identifier: Apache-2.0

// Package setup describes training runs: the model, the batch and the settings, as users write them in a
// file or as flags. It decodes and checks them and fills in defaults. It simulates nothing.
package setup

import "snug/internal/safetensors"

// Setup describes one training run.
type Setup struct {
	ID            string        `json:"id,omitempty"`
	Model         Model         `json:"model"`
	Batch         int           `json:"batch"`
	Seq           int           `json:"seq,omitempty"`
	TargetSeq     int           `json:"target_seq,omitempty"`
	Positives     int           `json:"positives,omitempty"`
	Negatives     int           `json:"negatives,omitempty"`
	Precision     string        `json:"precision,omitempty"`
	Weights       string        `json:"weights,omitempty"` // their type under autocast, where it is not float32; with LoRA of those that are frozen
	Optimizer     string        `json:"optimizer,omitempty"`
	Checkpointing bool          `json:"checkpointing,omitempty"`
	Loss          string        `json:"loss,omitempty"`  // whose code computes it from the last hidden states, where it is not the model's own
	Liger         []string      `json:"liger,omitempty"` // the layers that are Liger's: "rope", "norm", "mlp"
	Attention     string        `json:"attention,omitempty"`
	AttentionMask *bool         `json:"attention_mask,omitempty"`
	Accumulation  int           `json:"accumulation,omitempty"`
	Clip          bool          `json:"clip,omitempty"`
	SetToNone     *bool         `json:"set_to_none,omitempty"` // whether zero_grad drops gradients, or fills them and keeps them; nil is PyTorch's default, true
	LoRA          *LoRA         `json:"lora,omitempty"`
	Quantization  *Quantization `json:"quantization,omitempty"`
	Allocator     string        `json:"allocator,omitempty"`
	Dist          *Dist         `json:"dist,omitempty"`
	Limit         uint64        `json:"limit,omitempty"`
	Versions      Versions      `json:"versions,omitzero"`
	Steps         int           `json:"steps,omitempty"`

	Sizes      map[string]int     `json:"-"` // what a profile varies that has no field of its own
	Loaded     string             `json:"-"` // what was said of Weights before the model's files were asked: a type, or Saved
	Loads      map[string]Loading `json:"-"` // how its files would load weights, by precision, where they were asked
	Longest    bool               `json:"-"` // nobody said how long samples are: they are as long as the model can see
	Guessed    bool               `json:"-"` // nothing says what type the weights are saved in
	Unverified []string           `json:"-"` // fields that it gives and its profile does not tell: no figure depends on them
	LeftOut    int                `json:"-"` // updates at the start that a measured run is known to have left out
	LossChunks int                `json:"-"` // pieces in which a causal loss is computed: what a lever tries, not what files say
}

// KeepsGradients tells whether gradients outlive the step that they are of.
func (s *Setup) KeepsGradients() bool { return s.SetToNone != nil && !*s.SetToNone }

// Model says which model is trained: exactly one of its sources is given.
type Model struct {
	Config  map[string]any `json:"config,omitempty"`
	Name    string         `json:"name,omitempty"`
	Profile string         `json:"profile,omitempty"`
	Head    string         `json:"head,omitempty"`

	Weights *safetensors.Header `json:"-"` // the files beside the config, where there are any
	Program Program             `json:"-"` // what Profile holds
}

// AllLinear as a target of LoRA is every linear layer but the head, as in PEFT.
const AllLinear = "all-linear"

// LoRA freezes all but low-rank adapters on the named linear layers.
type LoRA struct {
	Rank    int      `json:"rank"`
	Alpha   float64  `json:"alpha,omitempty"`
	Dropout float64  `json:"dropout,omitempty"`
	Targets []string `json:"targets"`
	PEFT    bool     `json:"peft,omitempty"` // as that library does it: adapters in float32, inputs cast to them
	DoRA    bool     `json:"dora,omitempty"` // PEFT's use_dora: the lengths of the weights' rows are trained too
	Save    []string `json:"save,omitempty"` // layers that are trained whole, beside the adapters: PEFT's modules_to_save
}

// Versions are the installed libraries; empty means the newest known.
type Versions struct {
	Torch        string `json:"torch,omitempty"`
	Transformers string `json:"transformers,omitempty"`
	CUDA         string `json:"cuda,omitempty"`
	BitsAndBytes string `json:"bitsandbytes,omitempty"` // which dequantized every weight before 0.50
}
