// SPDX-License-Identifier: Apache-2.0

// Package systems has a table for each trainer and launcher whose files snug reads: the key of each setting,
// how its value is written, the source of that information, and how the system differs from others. It reads
// no files. Other packages use the tables and never check which system they have.
package systems

import (
	"snug/internal/config/doc"
	"snug/internal/pattern"
)

// The code that finds and changes settings is the same for all systems. To add a system, add one file with
// one table.

// Kind is how a key's value is written.
type Kind string

// The kinds.
const (
	Whole    Kind = "whole number"
	Number   Kind = "number"
	Switch   Kind = "true or false"
	Word     Kind = "word"
	Name     Kind = "name"
	Names    Kind = "list of names"
	Above0   Kind = "number; on if above 0"    // such as a gradient norm
	Above1   Kind = "number; on if above 1"    // such as a number of parts
	Present  Kind = "anything"                 // the key turns its setting on, whatever its value
	Schedule Kind = "map from epoch to number" // {0: 4, 8: 2}
	Object   Kind = "object"                   // as it would be in a setup
	Slots    Kind = "hosts and their GPUs"     // localhost:0,1
	Link     Kind = "path to another file"
)

// Key is where one setting is in a system's files.
type Key struct {
	// Setting is the field of a setup that the key sets, or one of the few names that only files have:
	// workers, effective, link; refused for keys that rule out an estimate, and noted for effects that
	// figures do not include.
	Setting string
	// Path is the path to the value. A step * is any item of a list; **.name is that name at any depth. It is
	// "" if the system has no key; the value is then always Default.
	Path string
	// Kind is how the value is written.
	Kind Kind
	// Words translate between the file and the setup, for Kind Word. If several words have the same meaning, the
	// first is written.
	Words []Term
	// Reads are further words that are understood but never written: another system's, or an unknown
	// program's.
	Reads []Term
	// Beside is the key that selects an optimizer's kernel, if any. Its path is relative to the section of
	// this key.
	Beside *Key
	// Means is the meaning of "true" if the setting is a word: bf16: true means the precision amp-bf16. For refused
	// and noted keys, Means and Words describe what the key does; they complete a sentence that begins with the
	// key.
	Means string
	// Then is how a run with a noted key deviates from the figures.
	Then Deviation
	// Within and Unless limit a noted key to runs with, or without, the named training loop.
	Within, Unless string
	// Without limits a noted key to files without another key, given by its last name.
	Without string
	// Inverted is for a switch that turns its setting off.
	Inverted bool
	// OverGPUs means that the number is for all GPUs together, not per GPU.
	OverGPUs bool
	// Vague means that any other key of the setting is more specific: a DeepSpeed stage is more specific than
	// DeepSpeed.
	Vague bool
	// Short is for a word that programs also use for other things, such as batch. Only numbers count, and in
	// programs and shell scripts only in the usual places for settings.
	Short bool
	// Unit is the unit of the number.
	Unit string
	// Presets are values that a link can have instead of a file name: configs that the system ships, with the
	// kind of data parallelism of each.
	Presets []Term
	// Endings are the file name endings that a link can have, if other values mean something else; nil allows
	// any.
	Endings []string
	// OnlyIf is the path of a switch that must be on for the key to count.
	OnlyIf string
	// OnlyOff is the path of a switch that must be present and off.
	OnlyOff string
	// Needs is a key that must be present before this one may be inserted. Remark is the note that is shown if that
	// key is present; it completes a sentence that begins with the key.
	Needs, Remark string
	// OfModel means that the key is an argument of the model, not of the trainer whose arguments are next
	// to it.
	OfModel bool
	// OfSharding means that the switch belongs to the sharding: it turns checkpointing on in addition
	// to the trainer's own switch, and has no effect when off.
	OfSharding bool
	// OfLauncher means that accelerate's launcher reads the flag, whatever program it starts.
	OfLauncher bool
	// ClipsUnfused means that gradients are clipped by code that refuses fused optimizers under autocast
	// (lightning 2.6, plugins/precision/amp.py).
	ClipsUnfused bool
	// Quantizer is what a key that quantizes weights implies; nil for other keys.
	Quantizer *Quantizer
	// Locks is a setting that must not change while the key is on.
	Locks *Lock
	// Default is the value if the key is missing, as written in a file; "" if there is none.
	Default string
	// Source is the source of this information.
	Source string
}

// Term maps a value's spelling in a file to its spelling in a setup.
type Term struct {
	File  string // as written in a file
	Means string // as in a setup; "" for no effect
}

// System is one trainer or launcher, with the keys of its files.
type System struct {
	// Name is snug's name for the system, and Title is the name that users see.
	Name, Title string
	// Formats are the formats of its files.
	Formats []doc.Format
	// Signs identify the system's files: a file must have all keys of one of these groups. A step of a path may be
	// *; "a=b" requires the value b.
	Signs []string
	// Lacks is a key that the system does not have, although programs with keys like its own do; "" for none.
	Lacks string
	// Tied is for files that are read together with others and must agree with them: DeepSpeed's and
	// accelerate's.
	Tied bool
	// ByName is for files without a fixed structure: keys are found by their last names, anywhere.
	ByName bool
	// Makes matches the calls that identify a Python script of this system, and For is the system whose
	// defaults then apply. For a shell script, Makes matches the program that it starts, or the flags.
	Makes *pattern.Pattern // nil for every other system
	For   *System          // nil for every other system
	// Keys returns the table with its indexes. It is a function because a run needs only a few of the tables.
	Keys func() *KeyTable

	// How a system differs from others. No code checks which system it is.
	Finding
	Behavior
	Loading
	Sharding
}

// All returns every system, most specific first: if a file matches several, the first is used.
func All() []*System {
	return []*System{
		&gptNeoX, &deepspeed, &accelerate, &fsdpConfig, &autotrain, &axolotl, &llamaFactory, &llamaFactoryV1, &torchtune, &oumi, &litgpt, &litgptPretrain, &olmo, &composer,
		&nanotron, &torchtitan, &kohya, &ultralytics, &swift, &openInstruct, &trl, &hf, &hydra,
		&xtuner, &lightning, &qloraScript, &trlScript, &hfScript, &nanogptOwn, &nanogpt,
		&swiftShell, &factoryShell, &deepspeedChat, &openRLHF, &openInstructFlags, &lmflow, &qlora, &diffusers, &diffusersAdapters, &shell, &plain,
	}
}

// ForSetting returns the keys of one setting, in the order of the table.
func (s *System) ForSetting(setting string) []*Key { return s.Keys().bySetting[setting] }

// Together reports whether several keys express the setting together, as bf16 and fp16 do. For other settings
// the first key that is present is used.
func (k *Key) Together() bool {
	return k.Kind == Switch && k.Means != "" || k.Kind == Word || k.OnlyNoted()
}

// IsCommonName reports whether the key is a common name rather than the system's own.
func (k *Key) IsCommonName() bool { return k.Source == byConvention }

// Within reports whether a system has keys below a path.
func (s *System) Within(path string) bool { return s.Keys().sections[path] }

// OnlyNoted reports whether a key sets nothing and only causes a note.
func (k *Key) OnlyNoted() bool {
	return k.Setting == "refused" || k.Setting == "noted" || k.Setting == "quantized" || k.Setting == "quant_method"
}

// SettingKind returns the kind of the setting that the key sets.
func (k *Key) SettingKind() Kind {
	if k.Setting == "lora" {
		return Switch
	}
	if i, ok := SettingOrder()[k.Setting]; ok {
		return allSettings()[i].Kind
	}
	return k.Kind
}
