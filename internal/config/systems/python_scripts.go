// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"slices"

	"snug/internal/config/doc"
	"snug/internal/pattern"
)

// A Python script that creates a trainer's arguments itself uses the trainer's names: arguments have the same
// meaning as in a file, and missing ones have the trainer's defaults.

// hfScript is the system of scripts that use transformers' Trainer.
var hfScript = System{
	Name: "hf-script", Title: "a Python script with TrainingArguments", Formats: []doc.Format{doc.Python}, ByName: true,
	Makes: pattern.New(`(?m)^[^#\n]*\b(?:Seq2Seq)?TrainingArguments\(`, "TrainingArguments("), For: &hf,
	Finding: Finding{Startable: true, Arguments: trainingArguments},
	Keys:    keysOf(func() []Key { return append(scriptKeys(hf.Keys().All), unmistakable(plainKeys())...) }),
}

// trlScript is the system of scripts that use TRL's SFTTrainer.
var trlScript = System{
	Name: "trl-script", Title: "a Python script with SFTConfig", Formats: []doc.Format{doc.Python}, ByName: true,
	Makes: pattern.New(`(?m)^[^#\n]*\bSFTConfig\(`, "SFTConfig("), For: &trl,
	Finding: Finding{Startable: true, Arguments: trainingArguments}, Loading: Loading{TakesModel: true},
	Keys: keysOf(func() []Key { return append(scriptKeys(trl.Keys().All), unmistakable(plainKeys())...) }),
}

// trainingArguments returns the arguments of TrainingArguments, which SFTConfig inherits.
func trainingArguments() []Key { return hfKeys() }

// scriptKeys returns a trainer's keys as arguments of calls. The type of the weights is an argument of the
// call that loads them; keys of other objectives belong to their own classes.
func scriptKeys(keys []Key) []Key {
	var out []Key
	for _, k := range keys {
		switch {
		case k.Path == "" || k.Setting == "link" || k.Setting == "refused" && k.Kind == Present:
		case k.Path == "dtype" || k.Path == "torch_dtype":
			if k.Setting == "weights" {
				k.Path = "model_init_kwargs." + k.Path
				out = append(out, at("**.", k)...)
			}
		default:
			out = append(out, at("**.", k)...)
		}
	}
	return out
}

// OfParser returns the system of a Python program that passes a trainer's argument class to a parser, so that the
// arguments come from flags; nil for other programs.
func OfParser(text string) *System {
	switch {
	case parsesSFT.In(text):
		return &trlScript
	case parsesHF.In(text):
		return &hfScript
	}
	return nil
}

// ParsesFileOf reports whether a program of this system may read files that look like another system's: those of its
// trainer, or TRL's, because programs with the Trainer's arguments often have TRL's too.
func (s *System) ParsesFileOf(other *System) bool {
	return s.For == other || s.For != nil && slices.Contains(s.For.Companions, other.Name)
}

// unmistakable returns all keys except those marked Short, which are never a trainer's arguments.
func unmistakable(keys []Key) []Key {
	return slices.DeleteFunc(keys, func(k Key) bool { return k.Short })
}

// OfProgram returns the system of a Python program, recognized by its calls.
func OfProgram(text string) *System {
	for _, s := range []*System{&qloraScript, &trlScript, &hfScript} {
		if s.Makes.In(text) {
			return s
		}
	}
	return &plain
}
