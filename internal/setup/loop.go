// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"snug/internal/family"
	"snug/internal/files"
	"snug/internal/pysrc"
	"snug/internal/spelling"
)

// StepLoop is the default loop: each step runs in its own function, which frees its variables when it returns.
const StepLoop = "step"

// SentenceLoop is the loop of sentence-transformers, whose losses compare an encoder's outputs.
const SentenceLoop = "sentence-transformers"

// LitGPTLoop is the loop of LitGPT's finetuning, with its own model.
const LitGPTLoop = "litgpt"

// DiffusersLoop is the loop of diffusers' train_text_to_image.py and train_text_to_image_lora.py.
const DiffusersLoop = "diffusers"

// The loops of TRL's trainers that compare answers.
const (
	DPOLoop    = "trl-dpo"    // DPOTrainer
	RewardLoop = "trl-reward" // RewardTrainer
	KTOLoop    = "trl-kto"    // KTOTrainer
	ORPOLoop   = "trl-orpo"   // ORPOTrainer
	CPOLoop    = "trl-cpo"    // also SimPO, which is one of its losses
	GRPOLoop   = "trl-grpo"   // GRPOTrainer, which generates the answers
)

// The loops of LLaMA-Factory's trainers that compare answers.
const (
	FactoryDPOLoop = "llama-factory-dpo" // also ORPO and SimPO, which have no reference
	FactoryKTOLoop = "llama-factory-kto" // the stage kto
)

// AxolotlDPOLoop is the loop of Axolotl's rl dpo and ipo: TRL's, but it empties PyTorch's cache after each micro-batch.
const AxolotlDPOLoop = "axolotl-dpo"

// Loops lists the loops known by name; any other is read from a Python file.
var Loops = []string{StepLoop, "script", "trainer", "accelerate", "lightning", "fabric", "trl", DPOLoop, RewardLoop, KTOLoop, ORPOLoop, CPOLoop, GRPOLoop, AxolotlDPOLoop, FactoryDPOLoop, FactoryKTOLoop, SentenceLoop, "timm", DiffusersLoop, "torchtune", LitGPTLoop, family.NanoGPT}

// Limits on the Python files that a loop is read from.
const (
	maxLoopFile    = 1 << 20
	maxLoopModules = 200
)

// Script is the training script that a loop is read from, or the built-in script of a loop known by name.
type Script struct {
	Name string      // name of a built-in loop; otherwise ""
	File *pysrc.File // the parsed file of any other loop
	Args []string    // the script's command line
	// Import reads a module next to the script. It returns fs.ErrNotExist if there is none.
	Import func(module string) (*pysrc.File, error)
	// Config reads the configuration of a model named in the script; nil if none can be read.
	Config func(name string) (map[string]any, error)
	// Read returns the text of a file that the script opens; nil if files cannot be read.
	Read func(path string) (string, error)

	Own Survey // what the setup takes from the script

	Guessed bool // the loop was detected, not named by the user; if it cannot be followed, snug's own step is used instead

	OwnClass func() string // says which model class a detected loop trains, if the project defines it; nil or "" otherwise

	StandsFor bool                // the setup's model only stands for the one that the script builds
	Variables map[string]Variable // the sizes that such a script assigns to its own variables

	given     map[string]bool // the fields given in the setup
	asked     map[string]bool // fields that the user gave in addition to the run's files
	flags     map[string]string
	decoded   Setup  // the setup right after decoding
	completed *Setup // the setup after missing values were filled in; nil if it was not read
	noted     sync.Mutex
	notes     []string
	learned   Learned
	abandoned bool // the script could not be followed
}

// Optimizer returns the name of the script's optimizer; "" until the script has been followed, or if it defines its
// own.
func (x *Script) Optimizer() string {
	x.noted.Lock()
	defer x.noted.Unlock()
	return x.learned.Optimizer
}

// Abandon marks the script as impossible to follow; snug's own step is used instead.
func (x *Script) Abandon() {
	x.noted.Lock()
	x.abandoned = true
	x.noted.Unlock()
}

// Abandoned reports whether the script could not be followed.
func (x *Script) Abandoned() bool {
	x.noted.Lock()
	defer x.noted.Unlock()
	return x.abandoned
}

// followed reports whether there is a script that has not been abandoned.
func (x *Script) followed() bool {
	if !x.Readable() {
		return false
	}
	x.noted.Lock()
	defer x.noted.Unlock()
	return !x.abandoned
}

// Learned is what was learned from following a script.
type Learned struct {
	Precision string // the precision it computes in; "" if unknown
	Backwards int    // backward passes per update
	Compiles  bool   // it calls torch.compile
	OwnModel  bool   // it builds its own model, and the setup's is not used
	Twice     bool   // it computes second derivatives
	Masks     bool   // masks with unknown contents select elements
	Optimizer string // the optimizer's name; "" if the script defines its own
	Head      string // the model's head; "" if the script builds its own model

	Weights       string // the 16-bit type that its weights are loaded in; "" for another
	Classes       int    // classes of an image model without a config; 0 if not specified
	Checkpointing bool   // layers are recomputed in its training steps
	Switched      bool   // an argument or a settings file turns that on or off
	Reference     string // what it compares answers against, one of References; "" if it compares none

	Unfollowed bool // parts of it could not be followed; the notes name them
}

// Learn records what was learned from following the script.
func (x *Script) Learn(l Learned) {
	x.noted.Lock()
	x.learned = l
	x.noted.Unlock()
}

// DifferentiatesTwice reports whether a script that was followed computes second derivatives.
func (s *Setup) DifferentiatesTwice() bool {
	if s.Script == nil {
		return false
	}
	s.Script.noted.Lock()
	defer s.Script.noted.Unlock()
	return s.Script.learned.Twice
}

// SelectsUnknown reports whether masks with unknown contents select elements in a script that was followed.
func (s *Setup) SelectsUnknown() bool {
	if s.Script == nil {
		return false
	}
	s.Script.noted.Lock()
	defer s.Script.noted.Unlock()
	return s.Script.learned.Masks
}

// Compiles reports whether the run uses torch.compile, according to the setup, or to its script once that was
// followed.
func (s *Setup) Compiles() bool {
	if s.Compile || s.Script == nil {
		return s.Compile
	}
	s.Script.noted.Lock()
	defer s.Script.noted.Unlock()
	return s.Script.learned.Compiles
}

// ModelTitle returns the run's model for a heading: the setup's, or the one that its script builds.
func (s *Setup) ModelTitle() string {
	if s.Script == nil {
		return s.Model.Title()
	}
	if s.Script.OwnModel() {
		return "model of " + s.Script.Path()
	}
	return s.Model.Title()
}

// OwnModel reports whether the script builds its own model; false until it has been followed.
func (x *Script) OwnModel() bool {
	x.noted.Lock()
	defer x.noted.Unlock()
	return x.learned.OwnModel
}

// Head returns the head of the script's model; "" until the script has been followed, or if the model has none.
func (x *Script) Head() string {
	if x == nil {
		return ""
	}
	x.noted.Lock()
	defer x.noted.Unlock()
	return x.learned.Head
}

// Classes returns the number of classes of the script's image model; 0 until the script has been followed, or if it does not
// specify them.
func (x *Script) Classes() int {
	x.noted.Lock()
	defer x.noted.Unlock()
	return x.learned.Classes
}

// Weights returns the 16-bit type that the script loads its weights in; "" for another type, and until the script has been
// followed.
func (x *Script) Weights() string {
	x.noted.Lock()
	defer x.noted.Unlock()
	return x.learned.Weights
}

// TrainedHead returns the head of the model that is trained: the script's, once it has been followed, else the setup's.
func (s *Setup) TrainedHead() string { return cmp.Or(s.Script.Head(), s.Model.Head) }

// Recomputes reports whether the layers are recomputed in backward: by the setup, or because the script, once it has been
// followed, turns it on.
func (s *Setup) Recomputes() bool {
	if s.Checkpointing || !s.Script.followed() || s.Overrides("checkpointing") {
		return s.Checkpointing
	}
	return s.Script.Recomputes()
}

// Recomputes reports whether the script recomputes layers in backward; false until the script has been followed.
func (x *Script) Recomputes() bool {
	x.noted.Lock()
	defer x.noted.Unlock()
	return x.learned.Checkpointing
}

// MayRecompute reports whether a plan may turn gradient checkpointing on or off: for the models of transformers, and for a
// script's own model if the script has a switch for it.
func (s *Setup) MayRecompute() bool {
	if s.Model.Config != nil || s.Script == nil {
		return s.Model.Config != nil
	}
	s.Script.noted.Lock()
	defer s.Script.noted.Unlock()
	return s.Script.learned.Switched
}

// Reference returns what the script compares answers against; "" until the script has been followed.
func (x *Script) Reference() string {
	x.noted.Lock()
	defer x.noted.Unlock()
	return x.learned.Reference
}

// PartlyFollowed reports whether the script, or a part of it, could not be followed. Other notes only describe the
// run, and do not mean that the figures are incomplete.
func (x *Script) PartlyFollowed() bool {
	x.noted.Lock()
	defer x.noted.Unlock()
	return x.abandoned || x.learned.Unfollowed
}

// Accumulation returns the script's backward passes per update; 0 until it has been followed.
func (x *Script) Accumulation() int {
	x.noted.Lock()
	defer x.noted.Unlock()
	return x.learned.Backwards
}

// Precision returns the script's precision; "" until the script has been followed, or if unknown.
func (x *Script) Precision() string {
	x.noted.Lock()
	defer x.noted.Unlock()
	return x.learned.Precision
}

// Path returns the script's file as the user named it, or the name of a known loop.
func (x *Script) Path() string {
	if x.File != nil {
		return x.File.Path
	}
	return x.Name
}

// Readable reports whether there is a script to follow. A script that could not be read has only notes.
func (x *Script) Readable() bool { return x != nil && (x.Name != "" || x.File != nil) }

// Says reports whether a field of the setup was given, or has been changed since. Otherwise it is a default, and the
// script's own value is used.
func (s *Setup) Says(field string) bool {
	x := s.Script
	if x == nil || x.given[field] {
		return true
	}
	return s.differs(&x.decoded, field)
}

// Changed reports whether a field differs from the setup that was read, as in the candidates of a plan. The plan
// would change the files too.
func (s *Setup) Changed(field string) bool {
	return s.Script != nil && s.Script.completed != nil && s.differs(s.Script.completed, field)
}

// Overrides reports whether a field overrides the arguments of a trainer in the script, because the user gave it or a
// plan changes it.
func (s *Setup) Overrides(field string) bool {
	return s.Script != nil && s.Script.asked[field] || s.Changed(field)
}

// Asks reports whether the user gave a field in addition to the run's files.
func (x *Script) Asks(field string) bool { return x.asked[field] }

// AskedFields returns the fields that the user gave in addition to the run's files, sorted.
func (x *Script) AskedFields() []string { return slices.Sorted(maps.Keys(x.asked)) }

// CommandLine returns the script's arguments. The script's own flag for accumulation gets the requested value; if a
// flag occurs twice, the last one counts.
func (s *Setup) CommandLine() []string {
	x := s.Script
	if flag := x.flags["accumulation"]; flag != "" && s.Overrides("accumulation") {
		return append(x.Args[:len(x.Args):len(x.Args)], flag, strconv.Itoa(max(s.Accumulation, 1)))
	}
	return x.Args
}

// IsLaunched reports whether the script gets its precision from accelerate's launcher, which applies to an
// Accelerator() without its own.
func (s *Setup) IsLaunched() bool {
	return s.Script != nil && s.Script.flags["precision"] == "--mixed_precision"
}

// differs reports whether a field that a script may set itself has changed.
func (s *Setup) differs(was *Setup, field string) bool {
	switch field {
	case "accumulation":
		return s.Accumulation != was.Accumulation
	case "precision":
		return s.Precision != was.Precision
	case "optimizer":
		return s.Optimizer != was.Optimizer
	case "checkpointing":
		return s.Checkpointing != was.Checkpointing
	case "clip":
		return s.Clip != was.Clip
	}
	return false
}

// ChangedAny reports whether any field that a script may set itself has changed.
func (s *Setup) ChangedAny() bool {
	return slices.ContainsFunc([]string{"accumulation", "precision", "optimizer", "checkpointing", "clip"}, s.Changed)
}

// Resized reports whether sizes of the run differ from the setup that was read, as in a search for the largest batch and
// in some levers of a plan.
func (s *Setup) Resized() bool {
	if s.Script == nil || s.Script.completed == nil {
		return false
	}
	was := s.Script.completed
	return s.Batch != was.Batch || s.Seq != was.Seq || s.LossChunks != was.LossChunks || s.Model.Config["vocab_size"] != was.Model.Config["vocab_size"]
}

// Note stores the notes on a followed script.
func (x *Script) Note(notes []string) {
	x.noted.Lock()
	x.notes = notes
	x.noted.Unlock()
}

// Notes returns the notes on a followed script, or nil if there is no script.
func (x *Script) Notes() []string {
	if x == nil {
		return nil
	}
	x.noted.Lock()
	defer x.noted.Unlock()
	return x.notes
}

// readLoop reads the loop of a setup that was decoded from fields.
func (s *Setup) readLoop(from Source, fields map[string]any) error {
	err := s.findLoop(from)
	if err != nil && from.Guessed {
		s.Script = &Script{Guessed: true, notes: []string{fmt.Sprintf("the loop in %s could not be read (%v); the figures assume that each step runs in its own function, and may be too low", s.loopName(), err)}}
		s.Loop = ""
		return nil
	}
	if s.Script != nil {
		s.Script.Guessed, s.Script.StandsFor, s.Script.given = from.Guessed, from.StandsFor, map[string]bool{}
		s.Script.OwnClass = from.OwnClass
		for name := range fields {
			s.Script.given[name] = true
		}
		s.Script.asked, s.Script.flags, s.Script.Variables = from.Asked, from.Flags, from.Variables
		s.Script.decoded = *s
	}
	return err
}

// findLoop finds the loop named in the setup.
func (s *Setup) findLoop(from Source) error {
	words, err := loopWords(s.Loop)
	switch {
	case err != nil:
		return err
	case len(words) == 0:
		return nil
	case slices.Contains(Loops, s.Loop):
		s.Script = &Script{Name: s.Loop}
		return nil
	case !isScript(words[0]):
		return Wrong("{loop} %q is not known%s", s.Loop, spelling.Hint(s.Loop, Loops, "known: "+strings.Join(Loops, ", ")+", or the Python file that has the loop, such as train.py"))
	case from.Open == nil:
		return Wrong("{loop} %s is a file, but files cannot be read here", words[0])
	}
	path := s.scriptPath(from)
	f, err := parseLoop(from, path, words[0])
	if err != nil {
		if at := new(fs.PathError); errors.As(err, &at) {
			return Wrong("reading %s: %v", words[0], at.Err)
		}
		return Wrong("{loop}: %v", err)
	}
	s.Script = &Script{
		File: f, Args: words[1:], Import: modulesIn(from, filepath.Dir(path)), Config: remembered(from.named), Read: texts(from),
	}
	return nil
}

// completeLoop sets the model for loops that have their own model code, and returns an error for models that a loop
// cannot train.
func (s *Setup) completeLoop() error {
	if s.Script == nil {
		return nil
	}
	switch name := s.Script.Name; {
	case s.Script.StandsFor && s.Dist != nil:
		return unknownModel("%s builds its own model, which is simulated on one GPU only; record the run: %s, and then give {model.name} memory.snug", s.loopName(), s.recording())
	case name == family.NanoGPT:
		config := family.AsNanoGPT(s.Model.Config)
		if config == nil {
			return Wrong("{loop} %s trains nanoGPT's own GPT, and GPT-2 with nanoGPT's code, but not %s; use {loop=script}", name, s.Model.Title())
		}
		s.Model.Config, s.Script = config, nil // nanoGPT's loop is simulated without its script
	case name == LitGPTLoop && !slices.Contains(s.Model.facts().Heads, family.CausalLM):
		return Wrong("{loop} %s trains causal language models, but %s is not one; use {loop=script}", name, s.Model.Title())
	case name == LitGPTLoop:
		s.Script = nil // LitGPT's loop is simulated without its script, also on several GPUs
	case ComparesAnswers(name):
		return s.completeAnswers(name)
	case name == DiffusersLoop && !slices.Contains(s.Model.facts().Heads, family.Diffusion):
		return Wrong("{loop} %s trains diffusion models, but %s is not one; use {loop=script}", name, s.Model.Title())
	case name == "timm" && !s.Model.facts().Positions.Images:
		return Wrong("{loop} %s trains image models, but %s takes text; use {loop=script}", name, s.Model.Title())
	}
	return nil
}

// HasLitGPTsModel reports whether the run is LitGPT's and its own model is simulated. A setup may ask for something
// that LitGPT lacks, such as another loss, or implements differently.
func (s *Setup) HasLitGPTsModel() bool {
	changed := s.Quantization != nil || s.Loss != "" || s.LossChunks > 1 || len(s.Liger) > 0 || s.Attention == "eager" || s.LoRA != nil && (s.LoRA.PEFT || s.LoRA.DoRA || len(s.LoRA.Save) > 0)
	return s.Loop == LitGPTLoop && s.Model.Head == family.CausalLM && s.Model.facts().LitGPT && !changed
}

// assumeLitGPT treats a run as LitGPT's if no loop is named and the run accumulates gradients of adapters under FSDP1
// that are not PEFT's. LitGPT's finetuning does not clip gradients (lora.py of October 2023; 0.5.13 refuses
// max_norm), so a run that does is not LitGPT's. LitGPT shards a model before it loads the weights.
func (s *Setup) assumeLitGPT() error {
	if s.Loop == "" && s.flatAdapters() && s.Accumulation > 1 && !s.Clip && s.Model.Head == family.CausalLM {
		s.Loop, s.LoopAssumed = LitGPTLoop, true
	}
	if s.Loop == LitGPTLoop && s.Dist.FSDP() && s.Dist.Load == "" {
		s.Dist.Load = LoadSharded // fabric.init_module creates the model on the meta device
	}
	return nil
}

// parseLoop parses a Python file; shown is its name in messages.
func parseLoop(from Source, path, shown string) (*pysrc.File, error) {
	in, err := from.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	src, err := files.ReadAll(in, maxLoopFile)
	if err != nil {
		return nil, Wrong("%s: %v", shown, err)
	}
	return parsePython(shown, src)
}

// remembered caches the configurations that read returns, because a search follows its script many times.
func remembered(read func(name string) (map[string]any, error)) func(string) (map[string]any, error) {
	type answer struct {
		config map[string]any
		err    error
	}
	var mu sync.Mutex
	known := map[string]answer{}
	return func(name string) (map[string]any, error) {
		mu.Lock()
		defer mu.Unlock()
		a, ok := known[name]
		if !ok {
			a.config, a.err = read(name)
			known[name] = a
		}
		return a.config, a.err
	}
}

// modulesIn returns a function that reads the modules in a folder, by name.
func modulesIn(from Source, folder string) func(string) (*pysrc.File, error) {
	read := 0
	return func(module string) (*pysrc.File, error) {
		name := filepath.FromSlash(strings.ReplaceAll(module, ".", "/"))
		if !filepath.IsLocal(name) {
			return nil, fs.ErrNotExist
		}
		for _, path := range []string{name + ".py", filepath.Join(name, "__init__.py")} {
			f, err := parseLoop(from, filepath.Join(folder, path), path)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if read++; read > maxLoopModules {
				return nil, fs.ErrNotExist
			}
			return f, err
		}
		return nil, fs.ErrNotExist
	}
}

// loopEvidence returns the evidence group of runs with the same loop.
func (s *Setup) loopEvidence() []string {
	switch {
	case !s.Script.Readable():
		return nil
	case s.Script.Name != "":
		return []string{"loop " + s.Script.Name}
	}
	return []string{"loop read from a script"}
}

// loopName returns the loop without its arguments.
func (s *Setup) loopName() string {
	return ScriptOf(s.Loop)
}

// loops reports whether the figures are for the setup's loop. They are for snug's own step if the script was not followed.
func (s *Setup) loops() bool {
	return !s.Script.Readable() || s.Script.followed() && (s.Dist == nil || s.FollowsOverGPUs())
}

// tells reports whether the setup, not a script, determines a field.
func (s *Setup) tells(field string) bool {
	return !s.Script.followed() || s.Script.File == nil || s.Says(field)
}

// ComputesIn returns the precision of the run: the script's, if it was followed and its precision is known.
func (s *Setup) ComputesIn() string {
	if s.Script.followed() && s.Script.File != nil && !s.Changed("precision") {
		return cmp.Or(s.Script.Precision(), s.Precision)
	}
	return s.Precision
}

// shownPrecision returns the precision for display: the script's own, once it has been followed.
func (s *Setup) shownPrecision() string {
	if in := s.ComputesIn(); in != s.Precision {
		return in
	}
	if s.tells("precision") {
		return s.precisionText()
	}
	return s.Script.Precision()
}

// shownOptimizer returns the name of the optimizer: the script's own, once it has been followed.
func (s *Setup) shownOptimizer() string {
	if s.tells("optimizer") {
		return s.Optimizer
	}
	return s.Script.Optimizer()
}

// plannedOptimizer returns the name of the optimizer in a plan: the script's own, unless the plan changes it.
func (s *Setup) plannedOptimizer() string {
	if s.Changed("optimizer") {
		return s.Optimizer
	}
	return cmp.Or(s.shownOptimizer(), s.Optimizer)
}

// shownAccumulation returns the number of forward passes per update: the script's own, once it has been followed.
func (s *Setup) shownAccumulation() int {
	if s.tells("accumulation") {
		return s.Accumulation
	}
	return s.Script.Accumulation()
}
