// SPDX-License-Identifier: Apache-2.0

// Package script follows a training script written in Python to learn which tensors it keeps alive. It binds and
// drops variables as Python does, and package shadow simulates everything that allocates. Nothing is executed:
// values that cannot be derived are unknown, and anything that cannot be followed is noted with its line.
//
// Libraries around PyTorch (transformers' Trainer, accelerate, Lightning and others) are followed too, using
// short Python files in the folder site-packages that bind variables as the originals do.
package script

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"snug/internal/family"
	"snug/internal/pysrc"
	"snug/internal/shadow"
	"snug/internal/shadow/train"
)

// Net is the model of a run, on the card.
type Net interface {
	// Parameters lists all parameters, including frozen ones, in the model's order.
	Parameters() []*shadow.Tensor
	// Cast is model.to(dtype).
	Cast(dtype shadow.DType)
	// CastTrained casts the trained parameters of a quantized model.
	CastTrained(dtype shadow.DType)
	// ToHost is model.cpu(), and ToCard moves the model back.
	ToHost()
	ToCard()
	// Spread wraps the trained model for several GPUs, if the run has several, and SpreadFrozen another one. The optimizer
	// has two groups of parameters: with the weight decay that decays reports, and without.
	Spread(decays func(p *shadow.Tensor) bool) error
	SpreadFrozen()
	// Around returns the optimizer that the wrapper puts around o.
	Around(o train.Optimizer) train.Optimizer
	// Enter and Leave are called before and after a forward with which a trainer has replaced the model's own.
	Enter()
	Leave(out *shadow.Tensor)
	// Boundary tells the wrapper whether the next backward is the last one before an update.
	Boundary(last bool)
	// Free drops the model's references to its parameters and buffers.
	Free()
	// Call runs forward. The caller owns the results.
	Call(b family.Batch, mode Mode) family.Outputs
	// RopeInit recomputes the table of torchtune's rotary embedding.
	RopeInit()
	// Fields lists the tensors of a batch from an unknown dataset.
	Fields() []Field
	// LayerNorm reports whether a parameter belongs to an nn.LayerNorm.
	LayerNorm(p *shadow.Tensor) bool
	// Embedding reports whether a parameter is the weight of an nn.Embedding.
	Embedding(p *shadow.Tensor) bool
	// Modules lists the modules inside the model, outer ones first.
	Modules() []Module
	// Layer returns the Linear or Embedding at a path, and Weight returns its weight; both return nil if there is
	// none.
	Layer(path string) shadow.Module
	Weight(path string) *shadow.Tensor
	// Replace replaces the parameters at a path with those of a new module. moved returns the new paths of
	// modules that the new one contains. The caller owns the parameters that the model no longer has.
	Replace(path string, parts []shadow.NamedTensor, moved func(path string) (string, bool)) (gone []*shadow.Tensor)
}

// Mode is the state in which a model is called.
type Mode struct {
	Eval          bool             // model.eval() was called last
	NoCache       bool             // use_cache is off
	States        bool             // output_hidden_states is on
	Checkpointing bool             // gradient_checkpointing_enable() was called
	Unchecked     bool             // gradient_checkpointing_disable() was called last
	Reentrant     *bool            // use_reentrant of checkpointing; nil if the script does not set it
	Every         int              // n, to checkpoint every n-th layer
	Chunks        int              // number of chunks of the logits, for torchtune's models
	Base          bool             // called without its head
	SkipLogits    bool             // skip_logits was passed, for Liger's forward
	InputGrads    bool             // enable_input_require_grads() was called, by the script or by checkpointing
	Undropped     bool             // its dropouts have a probability of 0
	Unadapted     bool             // its adapters are disabled
	Noise         bool             // NEFTune's hook is on the input embedding
	Padded        bool             // the attention mask has zeros
	Items         *shadow.Tensor   // num_items_in_batch, if passed
	Last          bool             // logits_to_keep is 1
	Past          []*shadow.Tensor // the cache of earlier tokens, which the forward takes ownership of
	Grow          int              // number of tokens added to the cache
}

// Run is a script and the settings of the run. The script's own settings take precedence; anything it does not
// specify comes from here.
type Run struct {
	World        *shadow.World  // receives the events
	File         *pysrc.File    // the parsed script
	Args         []string       // command line, after the script's name
	Batch, Seq   int            // size of a training batch
	ScriptBatch  int            // the script's own batch size, if Batch comes from it or is varied from it
	ScriptSeq    int            // the script's own length, if Seq comes from it or is varied from it
	Lengths      []int          // length of each training batch, if they vary
	Fields       []Field        // tensors of a batch from an unknown dataset
	Accumulation int            // micro-batches per step
	Optimizer    string         // used instead of the script's optimizer, unless ""
	Autocast     shadow.DType   // used if the script does not specify a dtype
	Settings     map[string]any // trainer arguments that are not on the command line
	Planned      map[string]any // trainer arguments that override the script's
	Spread       bool           // the run is on several cards, and only its settings are taken from the script
	NoneSelected bool           // masks with unknown contents select one element, not all
	Skips        int            // initial updates skipped because scaled gradients overflow
	Completion   int            // number of tokens in a sample's answer; 0 means half of the sample
	Evaluation   Evaluating     // evaluation in a loop known by name
	Whole        bool           // loaders of known length are followed through every batch

	// Named returns the configuration of a model that the script names, with all defaults, or nil if it describes
	// the setup's model. found is false if none can be read.
	Named func(name string) (config map[string]any, found bool)
	// Complete returns a configuration with all defaults, or as it is if no model can be built from it.
	Complete func(config map[string]any) map[string]any
	// NamesOf returns the names of a model's parameters.
	NamesOf      func(Loading) []string
	Config       map[string]any     // the model's config.json
	Causal       bool               // the model's loss predicts the next token
	Shifts       bool               // transformers' Trainer counts labels from the second token
	Variables    map[string]Resized // variables whose values in the script are replaced
	Stored       shadow.DType       // dtype of the weights that from_pretrained reads; None if unknown
	LoadsFloat32 bool               // from_pretrained loads weights in float32 unless it is told otherwise, as transformers before 5 does

	// Build builds a model on the card.
	Build func(m Making) (Net, error)
	// Adapt adds adapters to a model on the card.
	Adapt func(n Net, a Adapters) error
	// Mark is called at the start of each phase.
	Mark func(Phase)
	// Import reads a module next to the script. It returns fs.ErrNotExist if there is none.
	Import func(module string) (*pysrc.File, error)
	// Read returns the text of a file that the script opens; nil if files cannot be read.
	Read func(path string) (string, error)
	// YAML decodes a document to maps, lists and simple values; nil if YAML is not supported.
	YAML func(text string) (any, error)
	// Stop is called regularly. If it returns an error, Follow ends with it.
	Stop func() error
}

// Making describes how a model is made.
type Making struct {
	DType  shadow.DType // dtype at creation; None if the setup decides
	Cast   shadow.DType // dtype to cast to before the move to the card, or None
	Here   bool         // created directly on the card, as in a device context
	Copied bool         // a copy of an existing model
	Waits  bool         // remains in host memory until ToCard
	Loading
}

// Loading collects the settings that a script gives a model before it is built.
type Loading struct {
	Class     string         // the model's class in the script; "" if it has none
	Where     string         // where the script creates it
	Own       map[string]any // its configuration, if it is not the setup's
	Config    map[string]any // keys of its configuration that the script changes
	Head      string         // the task its class is trained for; "" if the setup decides
	Classes   int            // classes of an image model; 0 if not specified
	Attention string         // attn_implementation in transformers; "" if not specified
	Adapters  *Adapters      // adapters added before the move to the card, if any
	Loss      string         // which code computes the loss, by its name in a setup; "" if not specified
	Liger     *Liger         // kernels that replace its layers, if any
	Unadapted bool           // it has no adapters, although the setup's model does
	Loaded    bool           // from_pretrained loads it directly to the card, as with a device_map
	Fresh     bool           // it is made from its configuration, not loaded from a checkpoint
	Torchtune bool           // it is built from torchtune's modules, if torchtune has the model
	Quantized *Quantized     // how its weights are quantized; nil if the setup decides
	Halves    bool           // if its weights are quantized, its trained parameters are cast to bfloat16
}

// Liger selects what liger-kernel replaces in a model, if it has kernels for that model: the rotary embedding (Rope),
// norms (Norm), MLPs (MLP) and the loss (Loss).
type Liger struct{ Rope, Norm, MLP, Loss bool }

// Phase is one phase of a run.
type Phase int

// The phases of a script.
const (
	Forward    Phase = iota // a forward pass in training
	Backward                // a backward pass
	Update                  // an optimizer's step
	Evaluation              // forward passes without gradients
)

// Result is what Follow learned from a script.
type Result struct {
	Notes         []string         // what was not followed, each with its line
	Updates       int              // optimizer steps
	Trained       []*shadow.Tensor // parameters of the first optimizer that was stepped
	Graded        int              // how many of Trained had a gradient in that step
	Called        bool             // a known model has run
	Ungraded      int              // elements of those that had none
	Backwards     int              // backward passes
	PerUpdate     map[int]int      // number of updates, by the number of backward passes before the update
	Autocasts     bool             // autocast was entered
	Autocast      shadow.DType     // dtype of the first autocast
	Clips         bool             // gradients were clipped
	UnknownModels []string         // unknown models, with their lines
	Optimizer     string           // the optimizers used, by their names in a setup; "" if the script has its own
	Compiles      bool             // torch.compile was called
	Twice         bool             // a gradient was differentiated again
	Masks         bool             // masks with unknown contents selected elements
	Adapts        bool             // adapters were added to a model
	Sized         bool             // the setup's length decided the shape of a tensor
	Switched      bool             // an argument or a settings file turns gradient checkpointing on or off
	Reference     string           // what answers are compared against, as in a setup; "" if none are compared

	Checkpointing bool   // the value of that switch, without a plan
	MakesAdapters string // the line of the first LoraConfig; "" if there is none
}

// Follow follows the script from beginning to end.
func Follow(run Run) (*Result, error) {
	return newInterpreter(run).follow()
}

// follow runs the script. A survey ends early.
func (in *interpreter) follow() (res *Result, err error) {
	defer func() {
		switch e := recover().(type) {
		case nil, surveyed:
		case failure:
			res, err = nil, e
		case stopped:
			res, err = nil, e.error
		case string, runtime.Error: // an op on shapes that do not match, which fails in PyTorch too
			res, err = nil, in.shapeless(e)
		default:
			panic(e)
		}
	}()
	in.module(in.File, "__main__")
	in.checkBatch()
	in.noteRandoms()
	in.result.Sized = in.lengthUsed
	return &in.result, nil
}

// shapeless is the error for an op that failed because of the shapes of its tensors, with the op's own message.
func (in *interpreter) shapeless(e any) error {
	why := ""
	if text, ok := e.(string); ok {
		why = " (" + strings.TrimPrefix(text, "shadow: ") + ")"
	}
	path, at := in.where()
	return failure{path: path, at: at, text: "the shapes of the tensors here cannot be followed" + why + "; name the loop instead: --loop script, or record the run: snug profile -- python3 " + in.File.Path}
}

// Unsimulated is the error for a model or a loss that is not simulated. Text is the message.
type Unsimulated struct{ Text string }

// Error returns the text.
func (u *Unsimulated) Error() string { return u.Text }

// stopped is the panic that ends a canceled run.
type stopped struct{ error }

// failure is the panic that ends a script that cannot be followed.
type failure struct {
	path string
	at   pysrc.Pos
	text string
	long bool // a limit of limits.go was reached

	option bool // the command line has an option that the script lacks
}

// UnknownOption reports whether the command line has an option that the script lacks.
func (f failure) UnknownOption() bool { return f.option }

// ErrTooLong means that following a script takes more than limits.go allows.
var ErrTooLong = errors.New("the script takes too long to follow")

// Is reports whether the failure is target, which errors.Is looks for.
func (f failure) Is(target error) bool { return f.long && target == ErrTooLong }

func (f failure) Error() string { return fmt.Sprintf("%s:%d: %s", f.path, f.at.Line, f.text) }
