// SPDX-License-Identifier: Apache-2.0

// Package family holds the model families, one file each, written on the
// shadow of PyTorch so that they read like the modules they stand for
// (transformers 5.17 and torchvision 0.26 unless a comment says otherwise).
package family

import (
	"fmt"
	"sort"

	"snug/internal/shadow"
)

// Run is how a model is fed and run.
type Run struct {
	Head          string // "causal-lm", "masked-lm", "encoder", "seq2seq-lm", "image-classification"
	Batch         int
	Seq           int
	TargetSeq     int
	Positives     int
	Negatives     int
	Attention     string // "sdpa", "eager", "flash"
	Mask          bool   // the batch carries an attention mask
	Checkpointing bool
	Reentrant     bool     // the older kind of checkpointing
	Loss          string   // whose code computes a causal loss, "" for the model's own
	LossChunks    int      // pieces in which a causal loss is computed; 0 is all at once
	Liger         []string // the layers that are Liger's: "rope", "norm", "mlp"
}

// Model is a network with its loss: what one step of training runs forward.
type Model interface {
	// Batch makes the tensors of one micro-batch.
	Batch() Batch
	// Loss runs forward and returns the loss.
	Loss(b Batch) *shadow.Tensor
}

// Scripted is a model with a training script of its own, whose loop has names for
// what other trainers let go of with each micro-batch.
type Scripted interface {
	Model
	// Forward is logits and loss.
	Forward(b Batch) (logits, loss *shadow.Tensor)
	// Eval turns evaluation on, or off again.
	Eval(on bool)
	// Groups is how the script hands parameters to the optimizer.
	Groups(params []*shadow.Tensor) [][]*shadow.Tensor
}

// Batch is the tensors of one micro-batch, in the order of the dict that holds
// them.
type Batch struct {
	IDs, Mask, Labels, Pixels *shadow.Tensor
}

// Drop lets go of the batch.
func (b Batch) Drop() {
	for _, t := range []*shadow.Tensor{b.IDs, b.Mask, b.Pixels, b.Labels} {
		shadow.Release(t)
	}
}

// net is what every family shares: the process it runs in and how it is run.
type net struct {
	w   *shadow.World
	run Run
}

// maker builds a family's model: its parameters come into being in the order
// of the original's constructors.
type maker func(b *shadow.Builder, c *Config, run Run) (Model, error)

var families = map[string]maker{
	"bert":          newBert,
	"distilbert":    newDistilBert,
	"gemma2":        newGemma2,
	"gpt2":          newGPT2,
	"gpt_neox":      newGPTNeoX,
	"llama":         newLlama,
	"mamba":         newMamba,
	"mamba2":        newMamba2,
	"mistral":       newMistral,
	"mixtral":       newMixtral,
	"modernbert":    newModernBert,
	"mpnet":         newMPNet,
	"multi-encoder": newMultiEncoder,
	"nanogpt":       newNanoGPT,
	"opt":           newOPT,
	"phi3":          newPhi3,
	"qwen2":         newQwen2,
	"qwen3":         newQwen3,
	"qwen3_moe":     newQwen3MoE,
	"roberta":       newRoberta,
	"t5":            newT5,
	"vit":           newViT,
}

// Known is the model types that have a family, in order.
func Known() []string {
	out := make([]string, 0, len(families))
	for k := range families {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// masked are the encoders, whose heads New checks for all of them.
var masked = map[string]bool{"bert": true, "distilbert": true, "modernbert": true, "mpnet": true, "roberta": true}

// New builds the model that a configuration describes.
func New(b *shadow.Builder, c *Config, run Run) (Model, error) {
	mt := c.ModelType()
	mk := families[mt]
	if mk == nil {
		return nil, fmt.Errorf("model_type %q is not known; record a profile: snug profile -- <your command>", mt)
	}
	if masked[mt] && run.Head != "masked-lm" && run.Head != "encoder" {
		return nil, refuse("model.head", "%s is trained as masked-lm or encoder, not as %q", mt, run.Head)
	}
	if err := run.checkLiger(mt); err != nil {
		return nil, err
	}
	if !importsLittle[mt] {
		b.W.Constant(b.DType)
	}
	m, err := mk(b, c, run)
	if err != nil {
		return nil, err
	}
	return m, c.Err()
}

// importsLittle is the families whose modules do not import transformers'
// modeling_layers, or do so for the CPU. The others' do when the model is built, and with it
// torch.distributed.pipelining, which keeps a torch.tensor(0.0) on the default
// device.
var importsLittle = map[string]bool{"mpnet": true, "nanogpt": true}

// textBatch is token ids, a mask of ones, and labels that copy the ids.
func (n net) textBatch() Batch {
	b := Batch{IDs: n.w.Input(shadow.Int64, n.run.Batch, n.run.Seq)}
	if n.run.Mask {
		b.Mask = n.w.Input(shadow.Int64, n.run.Batch, n.run.Seq)
	}
	if n.run.Head == "causal-lm" || n.run.Head == "masked-lm" {
		b.Labels = n.w.Input(shadow.Int64, n.run.Batch, n.run.Seq)
	}
	if n.run.Head == "seq2seq-lm" {
		b.Labels = n.w.Input(shadow.Int64, n.run.Batch, n.run.TargetSeq)
	}
	return b
}

// layer runs one block of a model, checkpointed where that was asked for.
// Others are the tensors that the block reaches besides its input.
func (n net) layer(m shadow.Module, x *shadow.Tensor, others ...*shadow.Tensor) *shadow.Tensor {
	if !n.run.Checkpointing {
		return n.w.Call(m, x)
	}
	return n.w.Checkpoint(n.run.Reentrant, x, func(x *shadow.Tensor) *shadow.Tensor { return n.w.Call(m, x) }, others...)
}
