// SPDX-License-Identifier: Apache-2.0

package systems

import "snug/internal/pattern"

// What is special about a system is a field of its table, so that nothing else has to
// know which one it is: a new system says what it does, and the rest of the program
// does it.

// Lock is a setting that has to stay as it is, because of another.
type Lock struct {
	Setting string // the name of the setting
	Why     string // in one sentence, as it goes on after where it stands
}

// Finding is how a system's files are found and what belongs to them.
type Finding struct {
	// Commands is for scripts that start programs: whose flags those take.
	Commands *Commands
	// AlsoTelling are settings that make a file worth a look, beside those of every
	// system.
	AlsoTelling []string
	// Startable says that its files are programs with settings of their own, which a
	// script may start.
	Startable bool
	// OwnProgram says that a program of the user's own reads the file: what else it
	// understands nobody knows here.
	OwnProgram bool
	// Launcher says that a file belongs to whatever run is started in its folder,
	// where it is the only one.
	Launcher bool
	// Composes says that a file is composed with others by Hydra's rules.
	Composes bool
	// Rest is the system whose names find what the keys of this one do not.
	Rest *System
	// HasStages says that files beside one may be stages of a curriculum, and
	// MayBeStage that a file may be such a stage.
	HasStages, MayBeStage bool
	// HoldsWhenBound says that the defaults hold as well where snug.yaml binds the
	// settings of a file.
	HoldsWhenBound bool
	// MakesSections says that a key may be inserted with the section that it is in.
	MakesSections bool
	// NoAutocast says that precisions are types alone: autocast belongs to the file
	// that names this one.
	NoAutocast bool
	// Arguments are the keys that may be inserted as arguments of the call that a
	// script makes.
	Arguments func() []Key
}

// Commands is how to tell whose flags the programs take that a script starts.
type Commands struct {
	// Starts are command lines of a trainer's own, and Parses programs of the user's
	// that hand its arguments to a parser.
	Starts, Parses []Started
	// Flag is one that only Trainer has. A script that passes it starts the trainer
	// most likely, unless it starts one of those with OwnDefaults.
	Flag        string
	Trainer     *System          // whose flag that is
	OwnDefaults *pattern.Pattern // programs with the same flags and other defaults
	// PEFT is command lines whose LoRA is PEFT's.
	PEFT *pattern.Pattern
}

// Started is a trainer and the text that tells of it.
type Started struct {
	Text    *pattern.Pattern // of the command or the program
	Trainer *System          // whose flags it takes
}

// Behaviour is what a trainer does its own way.
type Behaviour struct {
	// UsesTRL says that what the trainer does depends on the TRL that is installed.
	UsesTRL bool
	// RefusesTwoSwitches says that it does not start where its own checkpointing and
	// that of the sharding are both on.
	RefusesTwoSwitches bool
	// RoundsAccumulation says that the forwards per step are the nearest number to
	// what the total batch asks for, rather than the largest below.
	RoundsAccumulation bool
	// LoRAKernels is what it puts in the place of PEFT's layers unless a key says
	// otherwise, "" for nothing.
	LoRAKernels string
	// NamesTargets says that no layer gets an adapter unless a file names it.
	NamesTargets bool
	// LigerByKernel says that each of Liger's kernels has its own switch, and is off
	// without.
	LigerByKernel bool
}

// Loading is how weights come to be, and in which types.
type Loading struct {
	// OwnModel is the model that is built from keys of the system's own, nil where a
	// file names one.
	OwnModel *OwnModel
	// Families is where a model is named by its family and its size.
	Families *Families
	// TakesModel says that the trainer is given a model that the script loaded.
	TakesModel bool
	// LoadedByScript says that the script loads the model, and not the trainer.
	LoadedByScript bool
	// LoadsTyped says that the type of the weights is another matter than the
	// precision; TypeIsPrecision that its files have one key for both.
	LoadsTyped, TypeIsPrecision bool
	// SavedSince5 says that weights are loaded in the type they were saved in from
	// transformers 5 on, and in float32 before.
	SavedSince5 bool
	// CastsTrained says that what is trained without adapters is cast to float32.
	CastsTrained bool
	// CastsWithoutFlash says that embeddings, the head and norms are cast to float32
	// unless attention is flash's.
	CastsWithoutFlash bool
	// Computes is the type of products with quantized weights where no key says it.
	Computes ComputeRule
	// PreparesQuantized says that what is not quantized is cast to float32 and back.
	PreparesQuantized bool
	// QuantizedAdapters is the type that adapters of quantized weights are cast to.
	QuantizedAdapters string
	// QuantizesItself is what its own code for that does, "" where it is
	// bitsandbytes'.
	QuantizesItself string
}

// OwnModel is a model that a trainer builds itself.
type OwnModel struct {
	Type string // as config.json has it
	// Tokens is the vocabulary of one from scratch, and DataTokens that of data that is
	// known by name.
	Tokens     int
	DataTokens map[string]int
	// Loads is the weights that one may begin with instead, by name.
	Loads                         map[string]Shape
	LoadedTokens, LoadedPositions int // what those have
}

// Shape is the size of a transformer: its layers, its attention heads and the width of its hidden states.
type Shape struct{ Layers, Heads, Channels int }

// ComputeRule is where the type of products with quantized weights comes from.
type ComputeRule string

// The rules; "" is bitsandbytes' own type.
const (
	ComputesAsHeld       ComputeRule = "the type of the weights"                                         // the type of the weights
	ComputesAsArithmetic ComputeRule = "the precision"                                                   // the type that the precision setting names
	ComputesUnlessLoaded ComputeRule = "bfloat16, or float32 where weights are loaded in something else" // bfloat16, or float32 for weights loaded in another type
)

// Families is models that are named by a family, under a path, and a size.
type Families struct {
	Path  string // of the family
	Names []Term // how the name of a model begins that is of the family
}

// Sharding is how a run over several GPUs is spread.
type Sharding struct {
	// Shards says that it is FSDP's without a key that says so, where ShardingRecipes
	// is "" or a program is started whose name ends so.
	Shards          bool
	ShardingRecipes string // such as _distributed
	// GathersInAutocast says that FSDP gathers and reduces in the type of autocast.
	GathersInAutocast bool
}
