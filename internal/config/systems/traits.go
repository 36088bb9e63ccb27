// SPDX-License-Identifier: Apache-2.0

package systems

import "snug/internal/pattern"

// What is special about a system is a field of its table, so no other code needs to know which system it
// is: a new system describes what it does, and the program follows.

// Lock is a setting that has to stay as it is, because of another.
type Lock struct {
	Setting string // the name of the setting
	Why     string // the reason, as the continuation of a sentence that begins with its place
}

// Finding says how a system's files are found and what belongs to them.
type Finding struct {
	// Commands is for scripts that start programs: it says which system's flags the programs take.
	Commands *Commands
	// AlsoTelling are settings that make a file worth reading, besides those of every system.
	AlsoTelling []string
	// Startable means that its files are programs with their own settings, which a script may start.
	Startable bool
	// OnlyAssigns means that its files are Python without a loop, which another program executes and then reads.
	OnlyAssigns bool
	// OwnProgram means that the user's own program reads the file, which may have further keys.
	OwnProgram bool
	// Launcher means that a file belongs to any run started in its folder, if it is the only one.
	Launcher bool
	// Composes means that a file is composed with others by Hydra's rules.
	Composes bool
	// Rest is another system whose names are tried for settings that the keys of this one do not find.
	Rest *System
	// HasStages means that files next to one may be stages of a curriculum, and MayBeStage that a file
	// may be such a stage.
	HasStages, MayBeStage bool
	// HoldsWhenBound means that the defaults also hold if snug.yaml binds the settings of a file.
	HoldsWhenBound bool
	// TrainsWith is the section without which a file of the system is not for training; "" for none.
	TrainsWith string
	// MakesSections means that a key may be inserted together with its section.
	MakesSections bool
	// NoAutocast means that precisions are types only: autocast belongs to the file that names this one.
	NoAutocast bool
	// Arguments are the keys that may be inserted as arguments of the call that a
	// script makes.
	Arguments func() []Key
}

// Commands says which system's flags a script's programs take.
type Commands struct {
	// Starts are command lines of a trainer itself, and Parses are the user's own programs that pass
	// its arguments to a parser.
	Starts, Parses []Started
	// Flag is a flag that only Trainer has. A script that passes it most likely starts the trainer, unless
	// it starts a program in OwnDefaults.
	Flag        string
	Trainer     *System          // the trainer that has the flag
	OwnDefaults *pattern.Pattern // programs with the same flags and other defaults
	// Refuses are command lines whose training is not simulated, whatever their flags are.
	Refuses []RefusedCommand
	// PEFT matches command lines whose LoRA is PEFT's.
	PEFT *pattern.Pattern
}

// RefusedCommand is a command line that is not simulated. Its pattern has the command as its first group.
type RefusedCommand struct {
	Text *pattern.Pattern
	Does string // as the continuation of a sentence that begins with the command
}

// Started is a trainer and the text that shows it.
type Started struct {
	Text    *pattern.Pattern // of the command or the program
	Trainer *System          // the trainer whose flags it takes
}

// Behaviour is what a trainer does differently from others.
type Behaviour struct {
	// UnknownDefaults means that nothing is known about the trainer but that it is the user's own.
	UnknownDefaults bool
	// UsesTRL means that the trainer's behaviour depends on the installed TRL.
	UsesTRL bool
	// RefusesTwoSwitches means that it does not start if its own checkpointing and that of the sharding
	// are both on.
	RefusesTwoSwitches bool
	// RoundsAccumulation means that the number of forward passes per step is rounded to the nearest for
	// the total batch, not down.
	RoundsAccumulation bool
	// CeilsAccumulation means that it is rounded up.
	CeilsAccumulation bool
	// KnownProgram means that a file is a copy of the trainer's own program: what its code computes is known.
	KnownProgram bool
	// JoinsTarget means that a sample is one sequence of a source and a target.
	JoinsTarget bool
	// LoRAKernels are the kernels that replace PEFT's layers unless a key says otherwise; "" for none.
	LoRAKernels string
	// NamesTargets means that no layer gets an adapter unless a file names it.
	NamesTargets bool
	// LigerByKernel means that each of Liger's kernels has its own switch, which is off by default.
	LigerByKernel bool
}

// Loading says how weights are loaded, and in which types.
type Loading struct {
	// Loop is the loop around the model, by its name in a setup, if the trainer has its own.
	Loop string
	// LoopOverGPUs means that the loop is simulated over several GPUs too.
	LoopOverGPUs bool
	// Checkpoints is the folder that models are downloaded to under their names on the hub.
	Checkpoints string
	// LoopLoss is the loss that the loop computes, by its name in a setup; "" if it takes any.
	LoopLoss string
	// AnswerLoops are the trainer's loops that compare answers, by the words for their objectives.
	AnswerLoops map[string]string
	// OwnModel is the model that is built from the system's own keys, nil if a
	// file names one.
	OwnModel *OwnModel
	// Families is set if a model is named by its family and its size.
	Families *Families
	// FusesNothing means that the trainer builds models from separate layers, some of which transformers fuses.
	FusesNothing bool
	// TakesModel means that the trainer is given a model that the script loaded.
	TakesModel bool
	// LoadedByScript means that the script loads the model, not the trainer.
	LoadedByScript bool
	// LoadsTyped means that the type of the weights is independent of the precision; TypeIsPrecision
	// means that its files have one key for both.
	LoadsTyped, TypeIsPrecision bool
	// AutocastsAsLoaded means that autocast, unless a key says otherwise, has the type of the weights, and float16's for
	// float32 weights. Weights whose files do not say their type are loaded in bfloat16.
	AutocastsAsLoaded bool
	// AutocastsUnsharded means that a run without FSDP has autocast in the type that FSDP would gather in.
	AutocastsUnsharded bool
	// SavedSince5 means that weights are loaded in their saved type from transformers 5 on, and in
	// float32 before.
	SavedSince5 bool
	// CastsTrained means that weights trained without adapters are cast to float32.
	CastsTrained bool
	// CastsWithoutFlash means that embeddings, the head and norms are cast to float32 unless flash
	// attention is used.
	CastsWithoutFlash bool
	// Computes is the rule for the type of products with quantized weights if no key gives it.
	Computes ComputeRule
	// PreparesQuantized means that what is not quantized is cast to float32, CastsBack that it is cast back, and
	// UncastIfSharded that neither is done under FSDP and ZeRO-3.
	PreparesQuantized, CastsBack, UncastIfSharded bool
	// QuantizedAdapters is the type that adapters of quantized weights are cast to.
	QuantizedAdapters string
	// QuantizesItself describes the trainer's own code for quantizing; "" if it uses bitsandbytes.
	QuantizesItself string
}

// OwnModel is a model that a trainer builds itself.
type OwnModel struct {
	Type string // as config.json has it
	// Tokens is the vocabulary of a model that is trained from scratch.
	Tokens int
	// DataTokens is the vocabulary of datasets that are known by name.
	DataTokens map[string]int
	// Loads holds the shapes of the weights that training may begin with instead, by name.
	Loads           map[string]Shape
	LoadedTokens    int // the vocabulary of those
	LoadedPositions int // and the tokens that they take
}

// Shape is the size of a transformer.
type Shape struct {
	Layers   int // transformer blocks
	Heads    int // attention heads of a layer
	Channels int // the width of hidden states
}

// ComputeRule says where the type of products with quantized weights comes from.
type ComputeRule string

// The rules; "" is bitsandbytes' own type.
const (
	ComputesAsHeld       ComputeRule = "the type of the weights"
	ComputesAsArithmetic ComputeRule = "the precision"
	ComputesUnlessLoaded ComputeRule = "bfloat16, or float32 if weights are loaded in another type"
)

// Families describes models that are named by a family, under a path, and a size.
type Families struct {
	Path  string // of the family
	Names []Term // how the names of the family's models begin
	Sizes []Term // names that are another's, if family and size are put together
}

// Sharding says how a run over several GPUs is spread.
type Sharding struct {
	// Shards means that it uses FSDP without a key, if ShardingRecipes is "" or the name of the started
	// program ends in it.
	Shards          bool
	ShardingRecipes string // such as _distributed
	// ShardsAs is the kind of sharding, fsdp2 if "", and AdaptersAs that of runs with adapters if it differs.
	ShardsAs, AdaptersAs string
	// CheckpointsSharded means that runs over several GPUs checkpoint, and others do not.
	CheckpointsSharded bool
	// SplitsVisible means that a process that sees several GPUs splits the layers over them.
	SplitsVisible bool
	// AlwaysDeepSpeed means that DeepSpeed holds the weights even if nothing is sharded.
	AlwaysDeepSpeed bool
	// GathersInAutocast means that FSDP gathers and reduces in the type of autocast.
	GathersInAutocast bool
}
