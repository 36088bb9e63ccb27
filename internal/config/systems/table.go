// SPDX-License-Identifier: Apache-2.0

// Package systems has a table for each trainer and launcher whose files snug reads: the key of each
// setting, how its value is written, the source of that fact, and the ways in which the system differs
// from others. It reads no files. Other packages use the tables and never ask which system they have.
package systems

import (
	"snug/internal/config/doc"
	"snug/internal/pattern"
)

// The code that finds and changes settings is the same for all systems; a new one is one
// file with one table.

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
	Above0   Kind = "number; on if above 0"
	Above1   Kind = "number; on if above 1"
	Present  Kind = "anything"
	Schedule Kind = "map from epoch to number"
	Object   Kind = "object"
	Slots    Kind = "hosts with their GPUs"
	Link     Kind = "path to another file"
)

// Key says where a system keeps one setting.
type Key struct {
	// Setting is the field of a setup that the key decides, or one of the few names that only files have:
	// workers, effective, link; refused is for keys that make figures impossible, noted for what figures
	// do not include.
	Setting string
	// Path leads to the value. A step * is any item of a list; **.name is that name at any depth. It is ""
	// if the system has no key: then Default is the value that always holds.
	Path string
	// Kind is how the value is written.
	Kind Kind
	// Words translate between the file and the setup, for Kind Word. To write a meaning, the first word
	// that has it is used.
	Words []Term
	// Reads are further words that are understood and never written: another system's, or those of an
	// unknown program.
	Reads []Term
	// Beside is the key that selects the kernel of an optimizer, if there is one: its path starts in the
	// section of this key.
	Beside *Key
	// Means is the meaning of "true" if the setting is a word: bf16: true means the precision amp-bf16.
	// For refused and noted it says what the key does, as the continuation of a sentence that begins with
	// the key; so do Words.
	Means string
	// Then says, for a noted key, how the run deviates from the figures.
	Then Deviation
	// Within and Unless limit a noted key to runs with, or without, the trainer's own loop, by its name.
	Within, Unless string
	// Without limits a noted key to files that do not have another key, by its last name.
	Without string
	// Inverted is for a switch that turns its setting off.
	Inverted bool
	// OverGPUs means that the number counts over all GPUs, not per GPU.
	OverGPUs bool
	// Vague means that any other key of the setting is more specific: DeepSpeed says less than its stage.
	Vague bool
	// Short is for a word that programs use for other things too, such as batch: only a number counts, and in
	// programs and shell scripts only where a setting is given.
	Short bool
	// Unit is what the number counts.
	Unit string
	// Presets are names that a link can have instead of a file's: of configs that the system ships, and
	// the kind of data parallelism that each means.
	Presets []Term
	// Endings are the endings of the files that a link can name, if other values mean something else; nil
	// allows any.
	Endings []string
	// OnlyIf is the path of a switch that has to be on for the key to count.
	OnlyIf string
	// OnlyOff is the path of a switch that has to be there and off.
	OnlyOff string
	// Needs is a key that has to be there before this one may be inserted. Remark is the note if it is
	// there, as the continuation of a sentence that begins with the key.
	Needs, Remark string
	// OfModel means that the key is an argument of the model, not of the trainer whose arguments are next
	// to it.
	OfModel bool
	// OfSharding means that the switch belongs to the sharding: it turns checkpointing on in addition
	// to the trainer's own switch, and has no effect when off.
	OfSharding bool
	// ClipsUnfused means that gradients are clipped by code that refuses fused optimizers under autocast
	// (lightning 2.6, plugins/precision/amp.py).
	ClipsUnfused bool
	// Quantizer says what follows from a key that quantizes weights; nil for others.
	Quantizer *Quantizer
	// Locks is a setting that has to stay as it is if the key is on.
	Locks *Lock
	// Default is the value if the key is missing, as its file would write it; "" if there is none.
	Default string
	// Source is the source of this information.
	Source string
}

// Term maps a value's spelling in a file to its spelling in a setup.
type Term struct {
	File  string // as a file writes it
	Means string // as in a setup; "" means nothing
}

// System is one trainer or launcher, with the keys of its files.
type System struct {
	// Name is snug's name for the system, Title the name that is shown.
	Name, Title string
	// Formats are those that its files may have.
	Formats []doc.Format
	// Signs identify the system's files: all keys of any one of these groups. A step may be *; "a=b"
	// requires that value.
	Signs []string
	// Tied is for files that are read together with others and have to agree with them: DeepSpeed's and
	// accelerate's.
	Tied bool
	// ByName is for files of any design: keys are found by their last names, anywhere.
	ByName bool
	// Makes matches the calls by which a Python script belongs to this system, and For is the system whose
	// defaults it then has. For a shell script it matches the program that is started, or its flags.
	Makes *pattern.Pattern // nil for every other system
	For   *System          // likewise
	// Keys returns the table with its indexes. It is a function because one run needs few of the tables.
	Keys func() *KeyTable

	// What a system does that others do not. Nothing asks which system it is.
	Finding
	Behaviour
	Loading
	Sharding
}

// All returns every system, most specific first: if a file looks like several, the first that matches
// is used.
func All() []*System {
	return []*System{
		&deepspeed, &accelerate, &axolotl, &llamaFactory, &llamaFactoryV1, &torchtune, &oumi, &litgpt, &litgptPretrain, &composer,
		&nanotron, &torchtitan, &kohya, &ultralytics, &swift, &openInstruct, &trl, &hf, &hydra,
		&xtuner, &lightning, &qloraScript, &trlScript, &hfScript, &nanogpt,
		&swiftShell, &factoryShell, &deepspeedChat, &openRLHF, &openInstructFlags, &lmflow, &qlora, &shell, &plain,
	}
}

// ForSetting returns the keys of one setting, in the order of the table.
func (s *System) ForSetting(setting string) []*Key { return s.Keys().bySetting[setting] }

// Together reports whether several keys express the setting together, as bf16 and fp16 do. For other
// settings the first key that is present decides.
func (k *Key) Together() bool {
	return k.Kind == Switch && k.Means != "" || k.Kind == Word || k.OnlyNoted()
}

// ByCustom reports whether the key is a usual name and not the system's own.
func (k *Key) ByCustom() bool { return k.Source == byCustom }

// Within reports whether a system has keys below a path.
func (s *System) Within(path string) bool { return s.Keys().sections[path] }

// OnlyNoted reports whether a key decides no setting and only causes a note.
func (k *Key) OnlyNoted() bool {
	return k.Setting == "refused" || k.Setting == "noted" || k.Setting == "quantized" || k.Setting == "quant_method"
}

// SettingKind returns the kind of the setting that the key decides.
func (k *Key) SettingKind() Kind {
	if k.Setting == "lora" {
		return Switch
	}
	if i, ok := SettingOrder()[k.Setting]; ok {
		return allSettings()[i].Kind
	}
	return k.Kind
}
