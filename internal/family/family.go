// SPDX-License-Identifier: Apache-2.0

// Package family has the model families, one file each. They use the ops of package shadow and read like the
// modules they simulate (transformers 5.17 and torchvision 0.26 unless a comment says otherwise). A model that is
// not covered exactly is refused, not approximated. In comments, "x is Y" means that x does what Y does in the
// original.
package family

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// Run describes a model's input and how it runs.
type Run struct {
	*Shape
	Calling       *Calling     // nil if the loop uses only the loss
	Head          string       // one of Heads
	Classes       int          // classes of an image model without a config; 0 for ImageNet's
	Positives     int          // positive samples per anchor, in contrastive training
	Negatives     int          // negative samples per anchor
	Attention     string       // "sdpa", "eager", "flash"
	Mask          bool         // the batch has an attention mask
	Checkpointing bool         // activations are recomputed in the backward pass
	Reentrant     bool         // reentrant checkpointing
	Loss          string       // which code computes a causal loss; "" is the model's own
	LossChunks    int          // pieces in which a causal loss is computed; 0 means all at once
	Unsloth       []string     // the layers that use Unsloth's kernels: "rope", "norm", "lora"
	Liger         []string     // the layers that use Liger's kernels: "rope", "norm", "mlp"
	Torchtune     bool         // decoders use torchtune's modules, if it has the model
	LitGPT        LitGPT       // decoders use LitGPT's modules and loss, if it has the model
	Lora          nn.Lora      // adapters that torchtune's and LitGPT's modules are built with
	Images        Images       // the images of each sample, for models with a vision tower
	Adapts        bool         // the model gets adapters
	Fresh         bool         // the model is made from its configuration, not loaded from a checkpoint
	Prefix        *Prefix      // the cache that each forward begins with; may be nil
	Resolution    int          // side of the images, in pixels, if the model does not fix it
	Low           shadow.DType // type that autocast casts to; None without autocast
	Transformers  int          // the release whose code runs: 445 is 4.45; 0 means the newest known

	ownLoss ownLoss   // the model type's OwnLoss
	repeats bool      // keys and values are repeated for every query head before flash attention
	tokens  tokenHead // the model type's tokens
	problem problem   // what a model that classifies texts learns
	path    string    // of the decoder in a larger model; "" means "model"
}

// at returns the path of a part of the decoder.
func (r Run) at(part string) string { return cmp.Or(r.path, "model") + "." + part }

// Rows returns how many rows the encoder sees for each sample: an anchor, its positives and its negatives.
func (r Run) Rows() int { return 1 + r.Positives + r.Negatives }

// Images describes the images of a sample, all of the same size. The zero value means none.
type Images struct {
	Count         int // per sample
	Height, Width int // in pixels, after the processor has resized them
}

// Shape is the size of a forward's input. All parts of a run share it, and it may change from one
// micro-batch to the next.
type Shape struct {
	Batch     int // rows per forward pass: samples, times Run.Rows
	Seq       int // tokens per sample
	TargetSeq int // tokens of the decoder per sample, for seq2seq models
	Choices   int // texts to choose from per sample, for multiple-choice models
}

// Model is a network and its loss.
type Model interface {
	// Batch makes the tensors of one micro-batch.
	Batch() Batch
	// Loss runs forward and returns the loss.
	Loss(b Batch) *shadow.Tensor
}

// Scripted is a model with its own training script. The script's loop keeps references to tensors that
// other trainers release with each micro-batch.
type Scripted interface {
	Model
	// Forward returns logits and loss.
	Forward(b Batch) (logits, loss *shadow.Tensor)
	// Eval switches evaluation mode on or off.
	Eval(on bool)
	// Groups splits parameters into optimizer groups, as the script does.
	Groups(params []*shadow.Tensor) [][]*shadow.Tensor
}

// Batch holds the tensors of one micro-batch, in the order of the dict that contains them.
type Batch struct {
	IDs, Mask, Labels, Pixels *shadow.Tensor // nil if the model does not use it
	Kinds, Grid               *shadow.Tensor // for models with a vision tower: 1 for each image token; rows and columns of patches per image
	Tiles                     *shadow.Tensor // which tiles each image has, for Llama 3.2 Vision
	Sound                     *shadow.Tensor // spectrograms (B, mel bins, frames), or waves (B, samples)
	Ends                      *shadow.Tensor // the last tokens of answers; Labels are then the first ones
	DecoderIDs                *shadow.Tensor // the decoder's input, if the caller makes it; nil if it is made of the labels
	Positions                 *shadow.Tensor // token positions of packed samples; nil if they are counted from 0
}

// Drop releases the batch.
func (b Batch) Drop() {
	for _, t := range []*shadow.Tensor{b.IDs, b.Mask, b.Kinds, b.Pixels, b.Grid, b.Tiles, b.Sound, b.Labels, b.Ends} {
		t.Drop()
	}
}

// net is embedded in all families: the process a model runs in, and how it runs.
type net struct {
	w   *shadow.World
	run Run
}

// maker builds a family's model. Its parameters are created in the order
// of the original's constructors.
type maker func(b *nn.Builder, c *Config, run Run) (Model, error)

// New builds the model that a configuration describes.
func New(b *nn.Builder, c *Config, run Run) (Model, error) {
	mt := c.ModelType()
	f, known := families[mt]
	if !known {
		return nil, fmt.Errorf("model_type %q is not known; record a profile: snug profile -- <your command>", mt)
	}
	run.Head = cmp.Or(run.Head, f.Heads[0])
	if err := f.check(mt, run); err != nil {
		return nil, err
	}
	run.ownLoss, run.tokens, run.problem = f.OwnLoss, f.tokens, c.problem(run)
	run.repeats = run.Attention == "flash" && run.Transformers > 0 && run.Transformers < f.repeatsUntil
	f.prepare(b, run)
	run.Torchtune = run.Torchtune && f.Torchtune && run.Head == CausalLM
	run.LitGPT.On = run.LitGPT.On && f.LitGPT && run.Head == CausalLM
	if !f.late && !run.Torchtune && !run.LitGPT.On {
		b.W.Constant(b.DType)
	}
	m, err := f.make(b, c, run)
	if err != nil {
		return nil, err
	}
	if run.Head == MultipleChoice {
		m = &chooser{Model: m, net: net{b.W, run}}
	}
	return m, c.Err()
}

// check returns an error for a run that no model of the type supports.
func (f Facts) check(name string, run Run) error {
	if bare := f.Bare && run.Head == Encoder && run.Calling != nil; !bare && !slices.Contains(f.Heads, run.Head) {
		return refuse("model.head", "%s is trained as %s, not as %q", name, either(f.Heads), run.Head)
	}
	if err := run.checkUnsloth(name, f); err != nil {
		return err
	}
	return run.checkLiger(name, f)
}

// either returns names joined for a sentence: a, b or c.
func either(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// textBatch makes token ids, a mask of ones, and labels for the head.
func (n net) textBatch() Batch {
	b := Batch{IDs: n.w.Input(shadow.Int64, n.run.Batch, n.run.Seq)}
	if n.run.Mask {
		b.Mask = n.w.Input(shadow.Int64, n.run.Batch, n.run.Seq)
	}
	if n.run.Head == CausalLM || n.run.Head == MaskedLM || n.run.Head == TokenClassification {
		b.Labels = n.w.Input(shadow.Int64, n.run.Batch, n.run.Seq)
	}
	if n.run.Head == SequenceClassification {
		b.Labels = n.classLabels(n.run.problem)
	}
	if n.run.Head == QuestionAnswering {
		b.Labels = n.w.Input(shadow.Int64, n.run.Batch)
		b.Ends = n.w.Input(shadow.Int64, n.run.Batch)
	}
	if n.run.Head == Seq2SeqLM {
		b.Labels = n.w.Input(shadow.Int64, n.run.Batch, n.run.TargetSeq)
	}
	return b
}

// layerWeights runs a block that also returns its attention weights. The caller must bind both results to
// variables.
func (n net) layerWeights(m shadow.Module2, x *shadow.Tensor, others ...*shadow.Tensor) (out, weights *shadow.Tensor) {
	if !n.checkpoints() || n.run.Calling.skips() {
		out, weights = n.w.Call2(m, x)
	} else {
		first := true
		out = n.w.Checkpoint(n.reentrant(), x, func(x *shadow.Tensor) *shadow.Tensor {
			y, of := n.w.Call2(m, x)
			if first {
				first, weights = false, of
			}
			return y
		}, others...)
	}
	n.keepState(x, out)
	return out, weights
}

// eagerOnly returns the run with eager attention, for models that support only that in transformers.
func (r Run) eagerOnly(model string) (Run, error) {
	if r.Attention == "flash" {
		return r, refuse("attention", "flash attention is not simulated for %s; use eager", model)
	}
	r.Attention = "eager"
	return r, nil
}

// layer runs one block of a model, checkpointed if checkpointing is on. others are the tensors that the block
// uses besides its input.
func (n net) layer(m shadow.Module, x *shadow.Tensor, others ...*shadow.Tensor) *shadow.Tensor {
	out := n.block(m, x, others...)
	n.keepState(x, out)
	return out
}

// block is like layer, for the blocks of a vision tower. Their outputs are not among the hidden states that a caller
// may request.
func (n net) block(m shadow.Module, x *shadow.Tensor, others ...*shadow.Tensor) *shadow.Tensor {
	if !n.checkpoints() || n.run.Calling.skips() {
		return n.w.CallWith(m, x, others)
	}
	return n.w.Checkpoint(n.reentrant(), x, func(x *shadow.Tensor) *shadow.Tensor { return n.w.Call(m, x) }, others...)
}
