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

// Kind is how a key writes its setting.
type Kind string

// The kinds.
const (
	Whole    Kind = "whole number"
	Number   Kind = "number"
	Switch   Kind = "true or false"
	Word     Kind = "word"
	Name     Kind = "name"
	Names    Kind = "list of names"
	Above0   Kind = "number, on above 0"
	Above1   Kind = "number, on above 1"
	Present  Kind = "anything"
	Schedule Kind = "map from epoch to number"
	Object   Kind = "object"
	Link     Kind = "path of another file"
)

// Key says where a system keeps one setting.
type Key struct {
	// Setting is the field of a setup that the key decides, or one of the few
	// names that only files have: workers, effective, link; refused is what no
	// figure is given for, noted what figures leave out.
	Setting string
	// Path leads to the value. A step * is any item of a list; **.name is that
	// name at any depth. It is "" where the system has no key: Default is how it
	// always is there.
	Path string
	// Kind is how the value is written.
	Kind Kind
	// Words translate between the file and the setup, for Kind Word: the
	// system's own. What is written is the first that has the meaning.
	Words []Term
	// Reads are further words that are understood and never written: another
	// system's, or those of a program that nobody here knows.
	Reads []Term
	// Beside is the key that picks the kernel of an optimizer, where there is
	// one: its path starts in the section that this key stands in.
	Beside *Key
	// Means is what "true" says where the setting is a word: bf16: true means
	// the precision amp-bf16. Of what is refused or noted it says what the key
	// does, as its sentence goes on after the key, Words likewise.
	Means string
	// Then is, of what is noted, on which side of the figures the run is.
	Then Side
	// Inverted is for a switch that turns its setting off.
	Inverted bool
	// OverGPUs says that the number counts over all GPUs, not per GPU.
	OverGPUs bool
	// Vague says that any other key of the setting knows better: that it is
	// DeepSpeed says less than which stage.
	Vague bool
	// Unit is what the number counts.
	Unit string
	// Endings are how the names of files end that a link names, where another value
	// means something else; nil is any.
	Endings []string
	// Needs is a key that has to be there before this one may be inserted, and Remark
	// what is said where it is, as the sentence goes on after the key.
	Needs, Remark string
	// OfModel says that it is an argument of the model, and none of the trainer whose
	// other arguments are beside it.
	OfModel bool
	// OfSharding says that the switch belongs to what shards the run: it turns
	// checkpointing on beside the trainer's own, and leaves it alone where it is off.
	OfSharding bool
	// ClipsUnfused says that gradients are clipped by who refuses that of a fused
	// optimizer under autocast (lightning 2.6, plugins/precision/amp.py).
	ClipsUnfused bool
	// Quantizer is what follows from a key that quantizes weights, nil where nothing does.
	Quantizer *Quantizer
	// Locks is a setting that has to stay as it is where the key is on.
	Locks *Lock
	// Default is what the system takes where the key is absent, as its file
	// would write it; "" where it has none.
	Default string
	// Source is where this was read.
	Source string
}

// Term is a value as files write it and as a setup does.
type Term struct {
	File  string // as a file writes it
	Means string // as a setup does; "" says nothing
}

// System is one system of training and its files.
type System struct {
	// Name is how snug calls the system, Title how people do.
	Name, Title string
	// Formats are those that its files may have.
	Formats []doc.Format
	// Signs tell the system's files: any one of these groups, all there. A
	// step may be *; "a=b" wants that value.
	Signs []string
	// Tied is for files that are read beside others and have to agree with
	// them: DeepSpeed's and accelerate's.
	Tied bool
	// ByName is for files of anybody's making: keys count by their last names,
	// wherever they stand.
	ByName bool
	// Makes is what a Python script calls that is one of the system, and For the
	// system whose defaults it then has.
	Makes *pattern.Pattern // nil for every other system
	For   *System          // likewise
	// Keys is the table itself, with its indexes; nobody needs most of them in
	// one run.
	Keys func() *KeyTable

	// What a system does that others do not. Nothing asks which system it is.
	Finding
	Behaviour
	Loading
	Sharding
}

// All is every system, the most specific first: where a file looks like
// several, the first that matches has it.
func All() []*System {
	return []*System{
		&deepspeed, &accelerate, &axolotl, &llamaFactory, &torchtune, &composer,
		&nanotron, &torchtitan, &kohya, &ultralytics, &trl, &hf, &hydra,
		&lightning, &trlScript, &hfScript, &nanogpt, &shell, &plain,
	}
}

// ForSetting is the keys of one setting, in the order of the table.
func (s *System) ForSetting(setting string) []*Key { return s.Keys().bySetting[setting] }

// Together is for settings that several keys make up between them: bf16 and
// fp16. Of the others the first key that is there decides.
func (k *Key) Together() bool {
	return k.Kind == Switch && k.Means != "" || k.Kind == Word || k.OnlyNoted()
}

// Within tells whether a system has keys below another.
func (s *System) Within(path string) bool { return s.Keys().sections[path] }

// OnlyNoted tells whether a key decides over no setting, and only has something said.
func (k *Key) OnlyNoted() bool {
	return k.Setting == "refused" || k.Setting == "noted" || k.Setting == "quantized" || k.Setting == "quant_method"
}

// SettingKind is the kind of the setting that the key decides.
func (k *Key) SettingKind() Kind {
	if k.Setting == "lora" {
		return Switch
	}
	if i, ok := SettingOrder()[k.Setting]; ok {
		return allSettings()[i].Kind
	}
	return k.Kind
}
