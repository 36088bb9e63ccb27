// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"slices"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/systems"
	"snug/internal/config/tree"
)

// A shell script passes a program some of its settings. The others are in the program: as defaults of its
// arguments (argparse, dataclasses), or in its calls (TrainingArguments, LoraConfig, from_pretrained).

// ownSettings are the settings that are read from a program.
var ownSettings = []string{
	"model", "batch", "accumulation", "precision", "autocast", "weights", "checkpointing", "seq", "target_seq", "optimizer", "attention", "clip", "liger",
	"lora", "quantized", "quant_method", "quantization", "uncounted",
}

// bindProgram binds settings of the only program that the main script trains with, if the script does not set them.
func (p *Found) bindProgram() {
	s := p.Primary.programSource(p.files)
	if s == nil {
		return
	}
	p.Program = s
	if e := p.onlyProgram(); e != nil {
		s.executed = e.Code
	}
	given := map[string]bool{}
	for _, b := range p.Bound {
		if b.Value != Auto || !b.Source.System.Tied { // DeepSpeed's "auto" leaves the value to the program
			given[b.Setting] = true
		}
	}
	s.rankGiven = given["lora.rank"]
	found, err := s.Bind()
	if err != nil {
		return // the program is not a config, so errors in it are ignored
	}
	values := p.argumentValues()
	for _, b := range found {
		group, _, _ := strings.Cut(b.Setting, ".")
		switch {
		case given[b.Setting] || p.ambiguous[b.Setting] != "" || !slices.Contains(ownSettings, group):
		case len(b.rivals) > 0 || b.Value == nil:
		case b.Value == true && values["no_"+strings.TrimLeft(b.Path[len(b.Path)-1], "-")] == true: // a flag turns the default off
		case slices.ContainsFunc(p.ExecutedPrograms(p.Primary), func(e ExecutedProgram) bool { return e.File == b.File && !e.executes(b.Line) }):
		default:
			p.bind(b)
		}
	}
}

// programSource returns the only program that a shell script trains with, or that reads a trainer's arguments from a file, as
// a source of settings; nil if there is none in the folder, or several.
func (s *Source) programSource(files Files) *Source {
	programs := s.ProgramTexts(files)
	if len(programs) != 1 {
		return nil
	}
	d, err := doc.Open(programs[0].File, []byte(programs[0].Text))
	if err != nil {
		return nil
	}
	system := *systems.OfProgram(programs[0].Text)
	system.AlsoDistinctive = append(systems.SettingNames(), filesOwn...)
	t := tree.New(withParsers(files, programs[0].File, d)...)
	t.Renamed = usualNames(d)
	return NewSource(programs[0].File, &system, t)
}
