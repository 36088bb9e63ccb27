// SPDX-License-Identifier: Apache-2.0

// Package simulate runs a training setup on the ops of package shadow, from loading the model through the
// first steps, and returns the stream of its allocations. It does not play the stream; package allocator computes
// peaks.
package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"snug/internal/family"
	"snug/internal/gpu"
	"snug/internal/kernel"
	"snug/internal/pattern"
	"snug/internal/setup"
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
	"snug/internal/shadow/train"
	"snug/internal/stream"
)

// The phases marked in a trace.
const (
	Load       = iota // loading the model
	Forward           // a forward pass
	Backward          // a backward pass
	Optimizer         // the optimizer's update
	Evaluation        // a forward pass without gradients, between steps
)

// phaseNames are the names of the phases shown to users.
var phaseNames = [...]string{Load: "load", Forward: "forward", Backward: "backward", Optimizer: "optimizer", Evaluation: "evaluation"}

// PhaseName returns the name of a phase.
func PhaseName(phase uint32) string { return phaseNames[phase] }

// Settled is the number of micro-batches after which all others make the same allocations and frees: gradients
// and casts exist, and the allocator has its segments.
const Settled = 4

// Result is a simulated run.
type Result struct {
	World     *shadow.World  // the process in which the run was simulated
	Loops     *stream.Folded // the trace, if it is folded
	Params    int            // number of parameters of the model
	Trainable int            // number of trained parameters
	Gradients uint64         // bytes of the trained parameters, in their own type
	Backwards int            // backward passes per update of a script that was followed; 0 for other runs
}

// Micros returns the number of forward passes per optimizer step of a run of the setup: the script's, if it
// accumulates by itself. Other runs of the same script may have other numbers.
func (r *Result) Micros(s *setup.Setup) int {
	if r == nil { // a recorded run
		return max(s.Accumulation, 1)
	}
	return max(s.Accumulation, r.Backwards, 1)
}

// Options are for tests and tools that need more than a plain run.
type Options struct {
	Log          func(w *shadow.World, op string) // called for each op and phase
	Undivided    bool                             // the loss is not divided, as in the op recordings
	OutOfPlace   bool                             // gradients are never added in place
	LateBuckets  bool                             // DDP's first buckets are released in the step after next
	Skips        []bool                           // steps whose scaled gradients overflowed, so that nothing was updated
	Watch        Stopwatch                        // measures a step after the first ones, if set
	Brief        bool                             // the first step, which allocates the optimizer's states, has one micro-batch
	Card         gpu.Card                         // the card that kernels are chosen for; the reference card if it has no compute capability
	Side         kernel.Side                      // which bound to use if a kernel's needs are unknown
	Local        bool                             // a script's step is a function: its variables are freed when it returns, and it prefetches nothing
	Model        Maker                            // builds a model instead of the setup's, if set
	Folds        bool                             // long loops stay folded in the result
	MaxEvents    int                              // limit on the number of events, counted folded if the run is folded; 0 for none
	Whole        bool                             // run every batch of a script's loader, for comparison with a recording
	Describes    bool                             // the world keeps the form of each tensor
	Stop         func() error                     // called before each micro-batch; an error ends the run; may be nil
	Standin      bool                             // no GPU runs the kernels, as in testdata/standin
	Spread       bool                             // the run is on several cards, and a script is followed on one for its settings alone
	NoneSelected bool                             // masks with unknown contents select one element, not all

	whole *setup.Setup // the setup of a script whose accumulation is shortened; nil for other runs
}

// Maker builds a custom model.
type Maker func(b *nn.Builder, how family.Run) (family.Model, error)

// Stopwatch measures the time of a step from the calls it receives.
type Stopwatch interface {
	shadow.Meter
	MicroDone()                                                  // a micro-batch has ended
	MicroMore()                                                  // another micro-batch follows, like the first but with gradients to add to
	Reset()                                                      // starts again from zero
	Update(optimizer string, params []*shadow.Tensor, clip bool) // the optimizer's update
}

// run is a training process being simulated.
type run struct {
	s           *setup.Setup
	o           Options
	w           *shadow.World
	builder     *nn.Builder
	own         []*shadow.Tensor // parameters trained by a script
	backwards   int              // backward passes per update of a script
	model       family.Model
	shape       *family.Shape      // shape of the current micro-batch
	prefix      *family.Prefix     // the cache that each forward of the model begins with
	script      family.Scripted    // the model, if it has its own training script
	names       loopNames          // variables of the training script
	wrapper     wrapper            // wrapper of the model on several GPUs
	params      []*shadow.Tensor   // parameters passed to the optimizer
	mine        []*shadow.Tensor   // the parameters that this process updates
	trained     []*shadow.Tensor   // trained parameters of a model on several GPUs, before sharding
	groups      [][]*shadow.Tensor // the optimizer's groups of them, for a script's model under DeepSpeed
	opt         train.Optimizer
	scaler      *train.GradScaler                // loss scaler, for amp-fp16
	at          int                              // the current step
	folds       bool                             // only a few iterations of long loops are simulated
	tokens      [][]int                          // tokens of each micro-batch of each step, if they vary
	opening     map[family.Shape]*shadow.Passage // for each shape, the first micro-batch of a step, which is copied in later steps
	config      *family.Config                   // config of the model, if it has one
	calling     *family.Calling                  // how the model is called, if a script calls it
	keeping     *family.Calling                  // which outputs a call keeps, if snug's own evaluation keeps some
	recomputes  bool                             // the script's training calls recompute the layers
	ineffective bool                             // checkpointing is on in a call with gradients, but the model is in eval mode
	here        bool                             // the script creates its model on the card
	weights     shadow.DType                     // type of the model that the script loads; None if the setup decides
	torchtune   bool                             // the script builds its model from torchtune's modules
	fresh       bool                             // the script makes the model from its configuration
	meter       metering                         // how far the watch has measured a script's own model
	timedMicro  bool                             // the watch has measured a micro-batch of that model
	untuned     bool                             // the script uses torchtune, but its model is simulated with another library's modules
}

// Run simulates the steps of a setup. Only a few iterations of a long loop are simulated; the rest are
// copied, unless a log needs every op or the iterations turn out to differ.
func Run(s *setup.Setup, o Options) (*Result, error) {
	if followsAlone(s) {
		return runSpread(s, o)
	}
	if Follows(s) && s.Script.Abandoned() {
		plain := *s
		plain.Script = nil
		return runLoop(&plain, o) // an earlier run could not follow the script, and another batch size would not help
	}
	res, err := runLoop(s, o)
	if few := fewerMicros(s, err); few != nil {
		short := o
		short.whole = s
		if short.Watch != nil {
			short.Watch.Reset()
		}
		if res, err := runLoop(few, short); err == nil {
			return res, nil
		}
	}
	if err == nil || !Follows(s) || !s.Script.Guessed || o.Stop != nil && o.Stop() != nil {
		return res, err
	}
	if errors.Is(err, setup.ErrUnknownModel) || setup.ComparesAnswers(s.Loop) || s.Model.Code {
		return nil, err // snug's own step would not train what the script trains
	}
	if wrong := new(setup.FieldError); s.Script.Accumulation() > 0 && errors.As(err, &wrong) && wrong.Field != "loop" {
		return nil, err // the script has been followed before; the error is about a setting that a plan changes
	}
	if why := notPlain(s.Script, err); why != nil {
		return nil, why
	}
	if own := ownClass(s.Script); own != nil {
		return nil, own
	}
	if errors.As(err, new(noGradient)) && s.Model.Config == nil {
		return nil, err // the script makes its own model of torchvision's parts
	}
	s.Script.Abandon()
	notes := []string{fmt.Sprintf("the loop of %s cannot be followed (%v); the figures assume that each step runs in its own function, and may be too low", s.Loop, err)}
	s.Script.Note(append(notes, uncounted(s)...))
	plain := *s
	plain.Script = nil
	return runLoop(&plain, o)
}

// uncounted lists what the code of a script that cannot be followed does to its model, but the setup does not count.
func uncounted(s *setup.Setup) (out []string) {
	text := sourceOf(s.Script)
	if line := setup.AdaptersMadeAt(text); line > 0 && s.LoRA == nil {
		out = append(out, setup.UncountedAdapters(fmt.Sprintf("%s:%d", s.Script.File.Path, line)))
	}
	for _, x := range []struct {
		code    *pattern.Pattern
		counted bool
		not     string
	}{
		{checkpoints, s.Checkpointing, "turns checkpointing on in code, which is not counted; give --checkpointing"},
		{ownLoss, false, "computes a loss in code, which is not counted"},
		{shards, s.Dist != nil, "shards the model in code, which is not counted; give --dist and --gpus"},
	} {
		if at := x.code.Index(text); at != nil && !x.counted {
			out = append(out, fmt.Sprintf("%s:%d: %s %s", s.Script.File.Path, 1+strings.Count(text[:at[2]], "\n"), text[at[2]:at[3]], x.not))
		}
	}
	return out
}

// These match the calls that turn checkpointing on and that shard a model, and the definition of a trainer's own loss.
var (
	checkpoints = pattern.New(`(?m)^[^#\n]*\b(gradient_checkpointing_enable|apply_activation_checkpointing)\(`, "checkpointing")
	ownLoss     = pattern.New(`(?m)^[ \t]+def[ \t]+(compute_loss)\(self\b`, "compute_loss")
	shards      = pattern.New(`(?m)^[^#\n]*\b(FSDP|FullyShardedDataParallel|fully_shard|deepspeed\.initialize)\(`, "FSDP(", "FullyShardedDataParallel(", "fully_shard(", "deepspeed.initialize(")
)

// notPlain returns the error for a script that cannot be followed and whose step is not a plain one; nil for any other.
func notPlain(x *setup.Script, err error) error {
	text := sourceOf(x)
	if trainer := comparison.Find(text); trainer != nil {
		return fmt.Errorf("%w (%s compares answers, so snug does not fall back to a supervised training step)", err, trainer[1])
	}
	if sentences.In(text) {
		return fmt.Errorf("%w (sentence-transformers trains several texts at a time, so snug does not fall back to a plain training step)", err)
	}
	return nil
}

// ownClass returns the error for a script that cannot be followed and trains a model class that the project defines; nil
// for any other. Only the code of such a class shows its loss and its heads, so snug's own step would train another model.
func ownClass(x *setup.Script) error {
	if x.OwnClass == nil {
		return nil
	}
	if class := x.OwnClass(); class != "" {
		return setup.Unsimulated(class + "; record the run: snug profile -- <your command>, or, if it computes what the model does, use --loop script")
	}
	return nil
}

// sourceOf returns the text of a script, or "" if it cannot be read.
func sourceOf(x *setup.Script) string {
	if x.File == nil || x.Read == nil {
		return ""
	}
	text, err := x.Read(x.File.Path)
	if err != nil {
		return ""
	}
	return text
}

// comparison matches the call that creates one of TRL's trainers that compare answers.
var comparison = pattern.New(`(?m)^[^#\n]*?\b((?:DPO|KTO|ORPO|CPO|GRPO|Reward)Trainer)\(`, "Trainer(")

// sentences matches the creation of one of sentence-transformers' trainers, or its older training call.
var sentences = pattern.New(`(?m)^[^#\n]*?(?:\b(?:SentenceTransformer|CrossEncoder|SparseEncoder)\w*Trainer\(|\.fit\(\s*train_objectives)`, "Trainer(", ".fit(")

// runLoop runs the setup's loop.
func runLoop(s *setup.Setup, o Options) (*Result, error) {
	if Follows(s) && o.Watch != nil && !s.Model.Code {
		return runWatched(s, o)
	}
	res, err := runFolded(s, o, o.Log == nil && s.Lengths == nil)
	if err != nil || res != nil {
		return res, err
	}
	if o.Watch != nil {
		o.Watch.Reset()
	}
	return runFolded(s, o, false)
}

// runWatched follows a script. The watch measures a step of snug's own loop instead, with the script's head,
// accumulation, checkpointing and precision.
func runWatched(s *setup.Setup, o Options) (*Result, error) {
	plain, watched := *s, o
	o.Watch = nil
	res, err := runLoop(s, o)
	if err != nil {
		return nil, err
	}
	plain.Model.Classes = s.Script.Classes()
	plain.Script, plain.Model.Head, plain.Accumulation, plain.Checkpointing = nil, s.TrainedHead(), res.Micros(s), s.Recomputes()
	if name, _ := plain.Model.Config["model_type"].(string); name != "" {
		if facts, ok := family.FactsOf(name); ok && facts.Bare && plain.Model.Head == family.Encoder { // a model without a head has no loss
			plain.Model.Head = facts.Heads[0]
		}
	}
	if p := s.ComputesIn(); p != s.Precision {
		plain.Precision, plain.Weights = p, ""
	}
	_, err = runLoop(&plain, watched)
	return res, err
}

// Check builds the model of a setup without running it, and returns an error if its family does not
// support it.
func Check(s *setup.Setup, card gpu.Card) error {
	r := &run{s: s, o: Options{Card: card}}
	return r.load()
}

// UnknownTargets returns the adapter targets for which the model has no linear layer. PEFT ignores them if another target
// matches.
func UnknownTargets(s *setup.Setup) []string {
	if s.LoRA == nil || len(s.LoRA.Targets) < 2 || Follows(s) {
		return nil
	}
	r := &run{s: s}
	if err := r.load(); err != nil || r.tuned() {
		return nil
	}
	names := r.builder.LinearNames()
	return slices.DeleteFunc(slices.Clone(s.LoRA.Targets), func(t string) bool {
		return slices.Contains(names, t[strings.LastIndexByte(t, '.')+1:])
	})
}

// maxIterations limits the tokens, over all layers and steps, of a model that runs token by
// token with varying lengths, whose loops cannot be folded.
const maxIterations = 12_000

// ErrTooLong means that a run has more events than the options allow.
var ErrTooLong error = shadow.TooLong{}

// runFolded runs the setup. It returns nil if the run could not be unfolded.
func runFolded(s *setup.Setup, o Options, folds bool) (res *Result, err error) {
	r := &run{s: s, o: o, folds: folds, tokens: s.Tokens(), opening: map[family.Shape]*shadow.Passage{}}
	switch {
	case Follows(s):
		r.calling = &family.Calling{}
	case r.evaluates() || s.LoRA != nil && s.LoRA.Tuner == setup.AdaLoRA:
		r.keeping = &family.Calling{}
	}
	if err := r.load(); err != nil {
		return nil, err
	}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case shadow.TooLong:
			res, err = nil, ErrTooLong
		case stopped:
			res, err = nil, e.error
		default:
			panic(e)
		}
	}()
	r.w.MaxEvents = o.MaxEvents
	if s.Lengths != nil {
		r.w.MaxIterations = maxIterations
	}
	if r.calling != nil {
		err = r.follow()
	} else {
		r.beforeSteps()
		r.steps()
		r.afterSteps()
	}
	if err != nil {
		return nil, err
	}
	loops, ok := r.w.Folded()
	if !ok {
		return nil, nil
	}
	if loops != nil && !o.Folds {
		r.w.Unfold(loops)
		loops = nil
	}
	res = &Result{World: r.w, Loops: loops, Backwards: r.backwards}
	r.count(res)
	r.w.Finish()
	return res, nil
}

// stopped is the panic that ends a canceled run.
type stopped struct{ error }

// checkCanceled panics if the run has been canceled.
func (r *run) checkCanceled() {
	if r.o.Stop == nil {
		return
	}
	if err := r.o.Stop(); err != nil {
		panic(stopped{err})
	}
}

// steps runs the steps. After the second update a step usually leaves the memory as it found it; the remaining
// steps are then identical, and are only copied. Their number is the setting "steps" in setup/table_place.go.
func (r *run) steps() {
	o, from := r.o, 0
	for i := range r.s.Steps {
		r.checkCanceled()
		if i >= len(o.Skips)+2 && o.Log == nil && r.tokens == nil && !r.evaluates() && r.w.Repeat(from) {
			from += (len(r.w.Trace.Events) - from) / 2
			continue
		}
		from, r.at = len(r.w.Trace.Events), i
		r.step(i < len(o.Skips) && o.Skips[i])
		r.settle(i)
		if r.evaluates() && r.s.EvaluatesAfter(i) {
			r.evaluate()
		}
	}
}

// settle prepares for many more steps, if each has its own length: it recycles what step i dropped, and allocates
// memory for the remaining events at once.
func (r *run) settle(i int) {
	if r.tokens == nil || !r.mayCopy() {
		return
	}
	r.w.Recycle()
	if i == 1 {
		r.w.Expect(r.s.Steps/2 + 1)
	}
}

// mayCopy reports whether events that are sure to repeat may be copied instead of simulated: on one GPU, without
// a log of every op.
func (r *run) mayCopy() bool { return r.o.Log == nil && r.wrapper == nil && r.script == nil }

// metered reports whether the watch measures micro-batch k of this step. It measures each kind once:
// micro-batches that add to existing gradients in the second step, when optimizer states exist, and the first
// micro-batch in the first step, if later steps copy it.
func (r *run) metered(k int) bool {
	if k == 0 && r.mayCopy() {
		return r.at == 0
	}
	return r.at == min(1, r.s.Steps-1)
}

func (r *run) load() error {
	r.newWorld()
	if r.calling != nil {
		return nil // the script loads its own model
	}
	if err := r.loadModel(); err != nil {
		return err
	}
	if err := r.newOptimizer(); err != nil {
		return err
	}
	if r.s.Precision == setup.AmpFP16 {
		r.scaler = train.NewGradScaler(r.w)
	}
	return nil
}

func (r *run) newWorld() {
	s := r.s
	rules := rules(s.Versions, r.o.Card)
	rules.Standin = r.o.Standin
	r.w = shadow.NewWorld(rules)
	r.w.Describes = r.o.Describes
	r.w.OutOfPlace, r.w.Folds, r.w.Side = r.o.OutOfPlace, r.folds, r.o.Side
	if r.o.Log != nil {
		r.w.Log = func(op string) { r.o.Log(r.w, op) }
	}
	r.mark(Load, "")
}

// loadModel makes the model and wraps it as the setup requires.
func (r *run) loadModel() (err error) {
	if !r.hosted() {
		return r.makeModel()
	}
	r.w.OnHost(func() { err = r.makeModel() })
	return err
}

func (r *run) makeModel() error {
	s := r.s
	r.builder = &nn.Builder{W: r.w, DType: cmp.Or(r.weights, weightType(s)), Meta: s.Dist.LoadsSharded() || s.Quantization != nil}
	r.shape = &family.Shape{Batch: s.Batch * s.Rows(), Seq: s.Seq, TargetSeq: s.TargetSeq, Choices: s.Choices}
	how := family.Run{
		Shape: r.shape, Calling: cmp.Or(r.calling, r.keeping), Head: s.Model.Head, Classes: s.Model.Classes,
		Positives: s.Positives, Negatives: s.Negatives,
		Attention: s.Attention, Mask: s.AttentionMask == nil || *s.AttentionMask,
		Fresh: r.fresh, Images: s.ImagesSeen(), Checkpointing: s.Checkpointing, Reentrant: s.Reentrant(), Loss: s.Loss, LossChunks: s.LossChunks, Liger: s.Liger, Unsloth: s.Unsloth, Adapts: s.LoRA != nil, Resolution: s.Resolution, Low: autocastType(s.Precision), Transformers: s.Versions.TransformersRelease(), Torchtune: r.torchtune, LitGPT: r.litGPT(),
	}
	r.prefix = &family.Prefix{}
	how.Prefix = r.prefix
	if r.torchtune || how.LitGPT.On {
		how.Lora = r.lora()
		how.Lora.Fresh = how.LitGPT.First
		if how.LitGPT.On && how.Lora.Targets[setup.AllLinear] {
			for _, name := range family.LitGPTTargets {
				how.Lora.Targets[name] = true
			}
		}
	}
	var err error
	switch {
	case r.o.Model != nil:
		r.model, err = r.o.Model(r.builder, how)
	case s.Model.Config == nil:
		r.model, err = family.Named(r.builder, s.Model.Name, how)
	default:
		r.config = family.NewConfig(s.Model.Config)
		r.model, err = family.New(r.builder, r.config, how)
	}
	r.script, _ = r.model.(family.Scripted)
	var no *family.Refusal
	if errors.As(err, &no) {
		return setup.Wrong("{"+no.Field+"}: %s", no.Why)
	}
	if err != nil {
		return err
	}
	if r.script != nil && s.Evaluation != nil {
		return setup.Wrong("{evaluation}: nanoGPT's train.py has its own evaluation, which uses the training batch size and keeps no logits; remove it")
	}
	r.builder.Freeze(s.FrozenModules())
	if s.Checkpointing && len(s.Freeze) > 0 { // gradient_checkpointing_enable does this for every model of texts
		r.builder.EnableInputRequireGrads()
	}
	if err := r.quantize(); err != nil {
		return err
	}
	if err := r.addLora(); err != nil {
		return err
	}
	return r.distribute()
}

// addLora freezes the model and adds adapters, if the setup has any.
func (r *run) addLora() error {
	l := r.s.LoRA
	if l == nil {
		return nil
	}
	if l.Prompts() {
		return r.addPrompt()
	}
	if l.Rank < 1 && l.Ranked() {
		return setup.Wrong("{lora.rank} is %d; it must be at least 1", l.Rank)
	}
	names, how := r.builder.LinearNames(), r.lora()
	for _, name := range l.Save {
		if !r.builder.Saves(name) {
			return setup.Wrong("{lora.save} %s: this model has no linear layer or embedding of that name, and saving other layers is not simulated", name)
		}
		if slices.ContainsFunc(r.builder.QuantizedLayers(), func(at string) bool { return nn.Named(at, name) }) {
			return setup.Wrong("{lora.save} %s: its weight is quantized and cannot be trained; remove it", name)
		}
	}
	if r.builder.TrainsCopies(how) {
		return setup.Wrong("{lora.dora} with {lora.dropout} on %s: PEFT computes gradients of whole weights there, which are not simulated; set {lora.dropout} to 0", r.s.Model.Title())
	}
	if at := r.builder.FirstConv1D(how); at != "" && slices.Contains([]string{setup.LoHa, setup.LoKr, setup.OFT}, l.Tuner) {
		return setup.Wrong("{lora.targets} %s: PEFT's %s does not support Conv1D layers, which %s has; choose another {lora.tuner}", at, l.Title(), r.s.Model.Title())
	}
	if !r.tuned() { // otherwise the layers already have adapters
		r.builder.AddLora(how)
	}
	if !r.builder.Adapted() {
		return setup.Wrong("{lora.targets} %s: this model has no linear layer of that name%s", strings.Join(l.Targets, ", "), thereAre(names))
	}
	if l.Tuner == setup.AdaLoRA {
		r.model = family.NewOrthogonal(r.builder, r.model, cmp.Or(r.calling, r.keeping))
	}
	if p := r.s.Quantization; p != nil && p.Adapters != "" {
		r.builder.CastTrained(typeOf(p.Adapters))
		if p.CastsEmbeddings() {
			r.builder.CastEmbeddings()
		}
	}
	if r.s.Checkpointing && !r.tuned() {
		r.builder.EnableInputRequireGrads()
	}
	return nil
}

// addPrompt freezes the model and adds virtual tokens.
func (r *run) addPrompt() (err error) {
	l := r.s.LoRA
	facts, known := family.FactsOf(r.modelType())
	if !known || r.tuned() {
		return setup.Wrong("{lora.tuner} %s is not simulated for %s; measure the run: snug profile -- <your command>", l.Tuner, r.s.Model.Title())
	}
	how := family.Run{Shape: r.shape, Calling: cmp.Or(r.calling, r.keeping), Head: cmp.Or(r.s.Model.Head, facts.Heads[0]), Prefix: r.prefix}
	p := family.Prompt{Tokens: l.Virtual, MLP: l.Tuner == setup.PTuning || l.Projection, Hidden: l.Encoder, Save: l.Save}
	if l.Tuner == setup.PrefixTuning {
		if r.s.Checkpointing && r.calling == nil {
			return setup.PrefixRecomputed()
		}
		r.prefix.Tokens = l.Virtual
		r.model, err = family.NewPrefixed(r.builder, r.config, r.model, how, p)
	} else {
		r.model, err = family.NewPrompted(r.builder, r.config, r.model, how, p)
	}
	var no *family.Refusal
	if errors.As(err, &no) {
		return setup.Wrong("{"+no.Field+"}: %s", no.Why)
	}
	if err == nil && r.s.Checkpointing {
		r.builder.EnableInputRequireGrads()
	}
	return err
}

// lora returns the setup's adapters; rank 0 means none.
func (r *run) lora() nn.Lora {
	l := r.s.LoRA
	if l == nil {
		return nn.Lora{}
	}
	targets := map[string]bool{}
	for _, t := range l.Targets {
		targets[t] = true
	}
	if targets[setup.AllLinear] {
		r.builder.AllLinear(targets)
	}
	_, diffuses := r.model.(family.Diffuser)
	asBase := diffuses && r.s.Precision != setup.AmpFP16 // diffusers' add_adapter casts nothing, and the programs only under fp16
	out := nn.Lora{Rank: l.Rank, Dropout: l.Dropout, Targets: targets, Matches: l.Expression(), PEFT: l.PEFT, DoRA: l.DoRA, AsBase: asBase, Save: l.Save}
	if l.Tuner != setup.LoRATuner {
		out.Tuner, out.Block, out.Feedforward = l.Tuner, l.Block, map[string]bool{}
		for _, name := range l.Feedforward {
			out.Feedforward[name] = true
		}
	}
	return out
}

// tuned reports whether the model is built from torchtune's or LitGPT's modules, including their adapters.
func (r *run) tuned() bool {
	_, torchtune := r.model.(family.Roped)
	_, litgpt := r.model.(family.ExternalLoss)
	return torchtune || litgpt
}

// lossOf runs the model forward, through its wrapper, and returns the loss.
func (r *run) lossOf(b family.Batch) *shadow.Tensor {
	m, outside := r.model.(family.ExternalLoss)
	if !outside {
		return r.forward(func() *shadow.Tensor { return r.model.Loss(b) })
	}
	r.forward(func() *shadow.Tensor { return m.Outputs(b) })
	return m.LossOf(b)
}

// litGPT returns whether the model is LitGPT's own, and which version. Its code of October 2023 was used with
// PyTorch 2.1.
func (r *run) litGPT() family.LitGPT {
	s := r.s
	return family.LitGPT{On: s.HasLitGPTsModel(), First: s.BeforeTorch(202), Flat: s.Dist != nil && s.DistKind() == setup.FSDP1}
}

// thereAre returns the end of the error about unknown targets, which lists the existing ones.
func thereAre(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "; it has " + strings.Join(names, ", ")
}

// step runs one optimizer step: the micro-batches, then the update.
func (r *run) step(skip bool) {
	r.microBatches()
	defer r.w.As(shadow.Temporaries)()
	if r.o.Watch != nil && r.at == min(1, r.s.Steps-1) {
		r.o.Watch.Update(r.s.Optimizer, r.params, r.s.Clip)
	}
	if r.s.Clip {
		r.mark(Optimizer, "clip")
		r.clip()
	}
	r.mark(Optimizer, "optimizer")
	r.update(skip)
	r.mark(Optimizer, "zero_grad")
	r.zeroGrad()
	if r.script != nil && r.o.Local {
		r.names.end()
	}
	r.note("step ends")
}

// zeroGrad is optimizer.zero_grad(set_to_none). Gradients filled with zeros keep their memory, and the next
// backward adds to them (torch/optim/optimizer.py, 2.11: zero_ or _foreach_zero_, in place).
func (r *run) zeroGrad() {
	if !r.s.KeepsGradients() {
		train.ZeroGrad(r.params)
	}
}

// microBatches runs the micro-batches of a step. The first one finds no gradients, unless they are kept,
// and is the same in every step. The other micro-batches do the same and add to its gradients. Repeated micro-batches
// are only copied.
func (r *run) microBatches() {
	from, n := 0, max(r.s.Accumulation, 1)
	if r.tokens == nil {
		n = min(n, Settled)
	}
	if r.o.Brief && r.at == 0 {
		n = 1
	}
	for k := range n {
		r.checkCanceled()
		other := r.boundary(k == n-1)
		r.reshape(k)
		if k >= 2 && !other && r.o.Log == nil && r.tokens == nil && r.w.Repeat(from) {
			from += (len(r.w.Trace.Events) - from) / 2
			continue
		}
		from = len(r.w.Trace.Events)
		if !r.copied(k) {
			r.microBatch(k)
		}
	}
}

// reshape gives micro-batch k its length, if lengths vary.
func (r *run) reshape(k int) {
	if r.tokens != nil {
		r.shape.Seq = r.tokens[r.at][k]
	}
}

// copied copies micro-batch k from the first one if possible.
func (r *run) copied(k int) bool {
	if k == 0 && !r.s.KeepsGradients() {
		return r.opening[*r.shape].Again()
	}
	ok := r.opening[*r.shape].More()
	if ok && r.o.Watch != nil && r.metered(k) {
		r.o.Watch.MicroMore()
	}
	return ok
}

// update runs the optimizer's step, through the scaler if there is one.
func (r *run) update(skip bool) {
	switch {
	case r.scaler == nil:
		r.opt.Step()
		return
	case skip:
		r.scaler.Skip(r.params)
	default:
		r.scaler.Step(r.opt, r.params)
	}
	r.scaler.Update()
}

// microBatch runs the k-th forward and backward pass of a step.
func (r *run) microBatch(k int) {
	if r.o.Watch != nil && r.metered(k) {
		r.w.Meter = r.o.Watch
		defer r.timed()
	}
	if k == 0 && r.opening[*r.shape] == nil && r.mayCopy() {
		p := r.w.Begin()
		r.opening[*r.shape] = p
		defer p.End()
	}
	if r.script != nil {
		r.scriptMicroBatch()
		return
	}
	r.note("step: batch")
	b := r.model.Batch()
	r.mark(Forward, "forward")
	var loss *shadow.Tensor
	r.w.Autocast(autocastType(r.s.Precision), func() {
		loss = r.lossOf(b).Hold()
	})
	r.mark(Backward, "backward")
	r.backward(loss)
	r.note("backward done, loss and batch dropped")
	loss.Drop()
	b.Drop()
}

// timed ends the watch's measurement of a micro-batch.
func (r *run) timed() {
	r.w.Meter = nil
	r.o.Watch.MicroDone()
}

// backward is scaler.scale(loss / accumulation).backward().
func (r *run) backward(loss *shadow.Tensor) {
	if !r.o.Undivided {
		loss = loss.DivScalar()
	}
	r.scaled(loss)
}

// scaled is scaler.scale(loss).backward().
func (r *run) scaled(loss *shadow.Tensor) {
	if r.scaler != nil {
		loss = r.scaler.Scale(loss)
	}
	shadow.BackwardTemporary(loss)
}

// clip limits the norm of the gradients, which must be unscaled first.
func (r *run) clip() {
	if r.scaler != nil {
		r.scaler.Unscale(r.params)
	}
	train.ClipGradNorm(r.w, r.params)
}

func (r *run) mark(phase uint32, text string) {
	r.w.Mark(phase)
	r.note(text)
}

func (r *run) note(text string) {
	if r.o.Log != nil && text != "" {
		r.o.Log(r.w, "# "+text)
	}
}

// weightType returns the type of the parameters: float32 under autocast, unless
// they were loaded in another.
func weightType(s *setup.Setup) shadow.DType {
	if s.Model.Head == family.Diffusion && s.LoRA != nil {
		return cmp.Or(autocastType(s.Precision), shadow.Float32)
	}
	held := s.Precision
	if autocastType(held) != shadow.None {
		held = s.Weights
	}
	return typeOf(held)
}

// typeOf returns the type with the given name, or float32 for "".
func typeOf(name string) shadow.DType {
	switch name {
	case setup.BF16:
		return shadow.BFloat16
	case setup.FP16:
		return shadow.Float16
	}
	return shadow.Float32
}

// autocastType returns the type that autocast casts to, or None.
func autocastType(precision string) shadow.DType {
	switch precision {
	case setup.AmpBF16:
		return shadow.BFloat16
	case setup.AmpFP16:
		return shadow.Float16
	}
	return shadow.None
}

// rules returns the rules for the card and the versions. Empty arguments mean the reference card and the newest
// known version.
func rules(v setup.Versions, card gpu.Card) kernel.Rules {
	r := card.Kernels(versionNumber(v.Torch, 211))
	r.BitsAndBytes = versionNumber(v.BitsAndBytes, 50)
	return r
}

// versionNumber returns 211 for "2.11.0".
func versionNumber(version string, fallback int) int {
	var major, minor int
	if n, _ := fmt.Sscanf(version, "%d.%d", &major, &minor); n != 2 {
		return fallback
	}
	return 100*major + minor
}
