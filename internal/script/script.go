// SPDX-License-Identifier: Apache-2.0

// Package script follows a training script written in Python, to learn what it keeps alive: it binds and
// drops names as Python does, and has package shadow run what allocates. Nothing is executed: values that
// are not known stay unknown, and what cannot be followed is noted with its line.
//
// Libraries around PyTorch (transformers' Trainer, accelerate, Lightning and others) are followed too, from
// short Python files of our own in the folder site-packages, which bind names as the originals do.
package script

import (
	"fmt"
	"io/fs"
	"runtime"

	"snug/internal/family"
	"snug/internal/pysrc"
	"snug/internal/shadow"
)

// Net is the model of a run, in the card's memory.
type Net interface {
	// Parameters lists them, frozen ones too, in the model's own order.
	Parameters() []*shadow.Tensor
	// Cast is model.to(dtype).
	Cast(dtype shadow.DType)
	// ToHost is model.cpu(), and ToCard brings it back.
	ToHost()
	ToCard()
	// Call runs forward. Its results are the caller's.
	Call(b family.Batch, mode Mode) family.Outputs
	// Fields is what a batch of an unknown data set carries for it.
	Fields() []Field
	// LayerNorm reports whether a parameter belongs to an nn.LayerNorm.
	LayerNorm(p *shadow.Tensor) bool
	// Embedding reports whether a parameter is the table of an nn.Embedding.
	Embedding(p *shadow.Tensor) bool
}

// Mode says how a model is called.
type Mode struct {
	Eval          bool           // model.eval() came last
	NoCache       bool           // use_cache is off
	Checkpointing bool           // gradient_checkpointing_enable() was called
	Reentrant     bool           // with the older kind of checkpointing
	Every         int            // which layers are checkpointed: every so manieth
	SkipLogits    bool           // skip_logits is given, for Liger's forward
	InputGrads    bool           // enable_input_require_grads() was called, or checkpointing did
	Noise         bool           // NEFTune's hook is on the input embedding
	Items         *shadow.Tensor // num_items_in_batch, where it is given
}

// Run is a script and the run that it is followed for. What the script says stands; what it leaves open is
// the run's.
type Run struct {
	World        *shadow.World
	File         *pysrc.File
	Args         []string       // of the command line, after the script's name
	Batch, Seq   int            // of a training batch
	Lengths      []int          // of each training batch, where they vary
	Fields       []Field        // what a batch of an unknown data set carries
	Accumulation int            // micro-batches of a step
	Optimizer    string         // where it is not PyTorch's AdamW; it stands in the place of the script's
	Autocast     shadow.DType   // where the script leaves it open
	Settings     map[string]any // the arguments of a trainer, where no command line gives them
	Skips        int            // first updates that are left out, since scaled gradients overflow
	Evaluation   Evaluating     // of a loop known by name
	Whole        bool           // every batch of loaders whose length is known is gone through

	// NamesOf is the names of the parameters of a model that is built so.
	NamesOf func(Loading) []string
	Config  map[string]any // of the model, as its config.json has it
	Causal  bool           // the model's loss predicts the next token
	Shifts  bool           // transformers' Trainer counts its labels from the second token on
	Stored  shadow.DType   // of the weights that from_pretrained reads; None where it is not known

	// Build puts a model onto the card.
	Build func(m Making) (Net, error)
	// Adapt puts adapters into a model that is there.
	Adapt func(n Net, a Adapters) error
	// Mark is told what comes next.
	Mark func(Phase)
	// Import reads a module beside the script; fs.ErrNotExist where there is none.
	Import func(module string) (*pysrc.File, error)
	// Stop ends the reading with its error.
	Stop func() error
}

// Making says how a model is made.
type Making struct {
	DType  shadow.DType // as it is made; None where the setup says
	Cast   shadow.DType // what it is cast to before it comes onto the card, if not None
	Here   bool         // it is made on the card itself, as under a device's context
	Copied bool         // it is a copy of one that is there
	Waits  bool         // it stays in the host's memory until ToCard
	Loading
}

// Loading is what a script says of a model before it is built.
type Loading struct {
	Config    map[string]any // keys of its configuration that the script changes
	Head      string         // what its class is trained as; "" where the setup says
	Attention string         // by its name in transformers; "" where it is left open
	Adapters  *Adapters      // that it gets before it comes onto the card; nil for none
	Loss      string         // whose code computes it, by its name in a setup; "" where it is left open
	Liger     *Liger         // kernels that take the place of its layers; nil for none
	Quantized *Quantized     // how its weights are quantized; nil where the setup says
}

// Liger is which layers of a model liger-kernel replaces, where it has kernels for it.
type Liger struct{ Rope, Norm, MLP, Loss bool }

// Phase is a part of a run.
type Phase int

// The phases that a script goes through.
const (
	Forward Phase = iota
	Backward
	Update
	Evaluation
)

// Result is what following a script showed.
type Result struct {
	Notes     []string     // what was not followed, each with its line
	Updates   int          // optimizer steps
	Backwards int          // backward passes
	Autocasts bool         // autocast was entered
	Autocast  shadow.DType // what it cast to first
	Clips     bool         // gradients were clipped
	Compiles  bool         // torch.compile was called
}

// Follow runs through the script.
func Follow(run Run) (res *Result, err error) {
	if run.Import == nil {
		run.Import = func(string) (*pysrc.File, error) { return nil, fs.ErrNotExist }
	}
	in := newInterpreter(run)
	defer func() {
		switch e := recover().(type) {
		case nil:
		case failure:
			res, err = nil, e
		case stopped:
			res, err = nil, e.error
		case string, runtime.Error: // an op on shapes that do not fit, as the real one would fail on them
			res, err = nil, failure{path: in.scope().file.Path, at: in.at, text: "the shapes of tensors here cannot be followed; name the loop instead: --loop script, or record the run: snug profile -- python3 " + run.File.Path}
		default:
			panic(e)
		}
	}()
	in.module(run.File, "__main__")
	in.checkBatch()
	return &in.result, nil
}

// stopped is the panic that ends a cancelled reading.
type stopped struct{ error }

// failure ends the reading of a script.
type failure struct {
	path string
	at   pysrc.Pos
	text string
}

func (f failure) Error() string { return fmt.Sprintf("%s:%d: %s", f.path, f.at.Line, f.text) }
