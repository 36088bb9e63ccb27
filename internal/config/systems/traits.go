// SPDX-License-Identifier: Apache-2.0

package systems

import "snug/internal/pattern"

// Everything special about a system is a field of its table, so that no other code depends on which system it
// is.

// Lock is a setting that must not change while another is on.
type Lock struct {
	Setting string // the name of the setting
	Why     string // the reason; it completes a sentence that begins with the position
}

// Finding describes how a system's files are found and what belongs to them.
type Finding struct {
	// Companions names systems whose files programs with this system's arguments also read.
	Companions []string
	// Commands is for scripts that start programs: it determines which system's flags the programs accept.
	Commands *Commands
	// AlsoDistinctive are settings that make a file worth reading, in addition to those that do so in every system.
	AlsoDistinctive []string
	// Startable means that the system's files are programs with their own settings, which a script may start.
	Startable bool
	// OnlyAssigns means that the system's files are Python assignments without a training loop, which another
	// program executes.
	OnlyAssigns bool
	// OwnProgram means that the user's own program reads the file, which may have further keys.
	OwnProgram bool
	// Launcher means that a file belongs to any run started in its folder, if it is the only such file there.
	Launcher bool
	// Composes means that a file is composed with others by Hydra's rules.
	Composes bool
	// Rest is another system whose names are tried for settings that this system's keys do not find.
	Rest *System
	// HasStages means that files next to this one may be curriculum stages. MayBeStage means that the file itself
	// may be one.
	HasStages, MayBeStage bool
	// HoldsWhenBound means that the system's defaults also apply if snug.yaml binds a file's settings.
	HoldsWhenBound bool
	// TrainsWith is a section that every file for training has; "" if there is none.
	TrainsWith string
	// MakesSections means that a key may be inserted together with its section.
	MakesSections bool
	// NoAutocast means that a precision in this file is only a type; the file that refers to this one sets
	// autocast.
	NoAutocast bool
	// Arguments are the keys that may be inserted as arguments of a script's call.
	Arguments func() []Key
}

// Commands determines which system's flags a script's programs accept.
type Commands struct {
	// Starts are a trainer's own commands, and Parses are the user's programs that pass its arguments to a
	// parser.
	Starts, Parses []Started
	// Flag is a flag that only Trainer has. A script that passes it probably starts the trainer, unless it
	// starts a program in OwnDefaults.
	Flag        string
	Trainer     *System          // the trainer that has the flag
	OwnDefaults *pattern.Pattern // programs with the same flags but other defaults
	// Refuses are commands whose training is not simulated, regardless of flags.
	Refuses []RefusedCommand
	// PEFT matches commands that use PEFT's LoRA.
	PEFT *pattern.Pattern
}

// RefusedCommand is a command that is not simulated. The first group of its pattern is the command.
type RefusedCommand struct {
	Text *pattern.Pattern // matches the command; see above
	Does string           // completes a sentence that begins with the command
}

// Started is a trainer and the text that identifies it.
type Started struct {
	Text    *pattern.Pattern // matches the command, or the program's text
	Trainer *System          // the trainer whose flags the program accepts
}

// Behavior is what a trainer does differently from others.
type Behavior struct {
	// UnknownDefaults means that the trainer is the user's own and its defaults are unknown.
	UnknownDefaults bool
	// UsesTRL means that the trainer's behavior depends on the installed TRL.
	UsesTRL bool
	// RefusesTwoSwitches means that the trainer does not start if both its own checkpointing and the
	// sharding's are on.
	RefusesTwoSwitches bool
	// RoundsAccumulation means that the number of forward passes per step, computed from the total batch, is
	// rounded to the nearest integer instead of down.
	RoundsAccumulation bool
	// CeilsAccumulation means that this number is rounded up.
	CeilsAccumulation bool
	// KnownProgram means that the file is a copy of the trainer's own program, so the values that it computes are
	// known.
	KnownProgram bool
	// JoinsTarget means that a sample is one sequence of a source and a target.
	JoinsTarget bool
	// LengthOfModel means that samples may be as long as the model accepts if the file sets no length.
	LengthOfModel bool
	// LoRAKernels are the kernels that replace PEFT's layers by default; "" for none.
	LoRAKernels string
	// NamesTargets means that no layer gets an adapter unless a file names it.
	NamesTargets bool
	// Denoises means that the program trains a diffusion model, so a file name that suggests one is not another
	// objective.
	Denoises bool
	// LigerByKernel means that each of Liger's kernels has its own switch, which is off by default.
	LigerByKernel bool
}

// Loading describes how weights are loaded, and in which types.
type Loading struct {
	// Loop is the trainer's own training loop, by its name in a setup; "" for none.
	Loop string
	// LoopOverGPUs means that the loop is also simulated on several GPUs.
	LoopOverGPUs bool
	// Reentrant describes when checkpointing is reentrant by default; nil means the transformers default.
	Reentrant *Reentrance
	// Checkpoints is the folder that models are downloaded to, named as on the hub.
	Checkpoints string
	// LoopLoss is the loss that the loop computes, by its name in a setup; "" if it accepts any.
	LoopLoss string
	// AnswerLoops maps the words for objectives to the trainer's loops that compare answers.
	AnswerLoops map[string]string
	// AnswersTRL is the TRL release that the trainer requires, if its DPO is TRL's; "" if the installed one decides.
	AnswersTRL string
	// AnswerKeys are the paths of refused keys that name the reference model. They are accepted if they name the
	// trained model.
	AnswerKeys []string
	// OwnModel is the model that is built from the system's own keys; nil if files name a model.
	OwnModel *OwnModel
	// BuildsModel means that the script's own code builds the model, so that OwnModel only stands for it until the
	// script is followed.
	BuildsModel bool
	// Describes translates the sizes of a model into a config.json. If no family has such layers, why says so, as the
	// predicate of a sentence about the model. Describes is nil if files name a model or contain its config.json.
	Describes func(sizes map[string]any) (config map[string]any, why string)
	// DescribesAtTop means that the sizes are at the top of the file, spelled with _ or -.
	DescribesAtTop bool
	// Families is set if a model is named by its family and its size.
	Families *Families
	// FusesNothing means that the trainer does not fuse layers that transformers fuses.
	FusesNothing bool
	// TakesModel means that the script passes a loaded model to the trainer.
	TakesModel bool
	// LoadedByScript means that the script loads the model, not the trainer.
	LoadedByScript bool
	// LoadsTyped means that the type of the weights is independent of the precision; TypeIsPrecision means
	// that files have one key for both.
	LoadsTyped, TypeIsPrecision bool
	// AutocastsAsLoaded means that autocast uses the type of the weights by default, and float16 for float32 weights.
	// Weights without a saved type are loaded in bfloat16.
	AutocastsAsLoaded bool
	// AutocastsUnsharded means that a run without FSDP uses autocast to the type that FSDP would gather in.
	AutocastsUnsharded bool
	// SavedSince5 means that weights are loaded in their saved type since transformers 5, and in float32
	// before.
	SavedSince5 bool
	// CastsTrained means that weights trained without adapters are cast to float32.
	CastsTrained bool
	// CastsWithoutFlash means that embeddings, the head and norms are cast to float32 unless flash
	// attention is used.
	CastsWithoutFlash bool
	// Computes is the rule for the compute type of quantized weights if no key sets it.
	Computes ComputeRule
	// PreparesQuantized means that weights that are not quantized are cast to float32, CastsBack that they are cast
	// back, and UncastIfSharded that neither cast happens under FSDP or ZeRO-3.
	PreparesQuantized, CastsBack, UncastIfSharded bool
	// QuantizedAdapters is the type that adapters on quantized weights are cast to.
	QuantizedAdapters string
	CastsIfBF16       bool // CastsBack and QuantizedAdapters apply only in bf16
	// QuantizesItself describes the trainer's own code for quantizing; "" if it uses bitsandbytes.
	QuantizesItself string
}

// Reentrance describes when a trainer uses reentrant checkpointing by default.
type Reentrance struct {
	Answers bool   // also for objectives that compare answers, such as DPO
	Except  string // the kind of data parallelism for which the default is non-reentrant
}

// OwnModel is a model that a trainer builds itself.
type OwnModel struct {
	Type string // model_type in config.json
	// Tokens is the vocabulary size of a model trained from scratch.
	Tokens int
	// DataTokens are the vocabulary sizes of known datasets, by name.
	DataTokens map[string]int
	// Usual is the shape if none is given.
	Usual Shape
	// Loads maps the names of pretrained weights, from which training may start instead, to their shapes.
	Loads           map[string]Shape
	LoadedTokens    int // vocabulary size of these weights
	LoadedPositions int // number of positions of these weights
}

// Shape is the size of a transformer.
type Shape struct {
	Layers   int // transformer blocks
	Heads    int // attention heads of a layer
	Channels int // the width of hidden states
}

// ComputeRule is where the compute type of quantized weights comes from.
type ComputeRule string

// The rules; "" is bitsandbytes' default.
const (
	ComputesAsHeld       ComputeRule = "the type of the weights"
	ComputesAsArithmetic ComputeRule = "the precision"
	ComputesUnlessLoaded ComputeRule = "bfloat16, or float32 if weights are loaded in another type"
)

// Families describes models that are named by a family, under a path, and a size.
type Families struct {
	Path  string // path of the key that names the family
	Names []Term // the prefixes of the family's model names
	Sizes []Term // exceptions: family and size that form another model's name
}

// Sharding describes how a run is distributed over several GPUs.
type Sharding struct {
	// Shards means that the trainer uses FSDP without a key, if ShardingRecipes is "" or the started
	// program's name ends in it.
	Shards          bool
	ShardingRecipes string // such as _distributed
	// ShardsAs is the kind of sharding, "" for fsdp2, and AdaptersAs is the kind for runs with adapters if it
	// differs.
	ShardsAs, AdaptersAs string
	// CheckpointsSharded means that only runs on several GPUs use checkpointing.
	CheckpointsSharded bool
	// SplitsVisible means that a process that sees several GPUs splits the layers over them.
	SplitsVisible bool
	// AlwaysDeepSpeed means that DeepSpeed manages the weights even if nothing is sharded.
	AlwaysDeepSpeed bool
	// GathersInAutocast means that FSDP gathers and reduces in the type of autocast.
	GathersInAutocast bool
}
