// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/systems"
	"snug/internal/config/tree"
	"snug/internal/pattern"
)

// A program may take every setting from flags. Its file then shows only the parser and the argument classes.

// parsesFlags matches the classes of arguments that a program passes to a parser; the last group is for
// argparse, which has no classes.
var parsesFlags = pattern.New(`(?m)^[^#\n]*\b(?:(TrlParser|HfArgumentParser|H4ArgumentParser|ArgumentParserPlus)\(\s*(?:\w+\s*=\s*)?[(\[]?([^)\]]*)|(argparse\.ArgumentParser|ArgumentParser|fire\.Fire|simple_parsing\.parse)\()`,
	"Parser(", "Parser((", "Fire(", "simple_parsing")

// parsingProgram returns a program that takes its settings from a trainer's flags, with the flags' defaults as its
// settings, if they include a model. It returns nil for anything else.
func (p *Found) parsingProgram(name string) *Source {
	data, err := p.files.ReadFile(name)
	parser := systems.OfParser(string(data))
	if err != nil || parser == nil {
		return nil
	}
	d, err := doc.Open(name, data)
	if err != nil || d.Format() != doc.Python {
		return nil
	}
	system := *parser
	system.AlsoDistinctive = []string{"model"}
	s := NewSource(name, &system, tree.New(tree.Layer{File: name, Doc: d}))
	found, err := s.Bind()
	if err != nil || !slices.ContainsFunc(found, func(b Bound) bool {
		_, named := b.Value.(string)
		return b.Setting == "model" && named && len(b.rivals) == 0
	}) {
		return nil
	}
	p.Defaults = name
	return s
}

// scriptOfProgram returns a shell script that names the model but no batch, if the only program that it trains with has a
// default for the batch: in its parser or dataclass, or as the default of TrainingArguments. It returns nil for
// anything else.
func (p *Found) scriptOfProgram(name string) *Source {
	d := p.opened(name)
	if d == nil || d.Format() != doc.Shell {
		return nil
	}
	shell := *systems.Shell()
	shell.AlsoDistinctive = append(slices.Clone(shell.AlsoDistinctive), "model")
	t := tree.New(tree.Layer{File: name, Doc: d})
	t.Renamed = renamed(p.files, name, d)
	s := NewSource(name, &shell, t)
	program := s.programSource(p.files)
	if program == nil {
		return nil
	}
	s.program = s.programTrainer(p.files)
	found, err := s.Bind()
	if err != nil || !slices.ContainsFunc(found, func(b Bound) bool { return b.Setting == "model" }) {
		return nil
	}
	if !s.trainerSetsBatch() && !program.setsBatch() {
		return nil
	}
	p.Notes = append(p.Notes, fmt.Sprintf("%s sets no batch; the default in %s is assumed", name, program.File))
	return s
}

// setsBatch reports whether a program's code has one batch, such as the default of a flag.
func (s *Source) setsBatch() bool {
	found, err := s.Bind()
	return err == nil && slices.ContainsFunc(found, func(b Bound) bool {
		_, is := b.Value.(int)
		return is && b.Setting == "batch" && len(b.rivals) == 0
	})
}

// trainerSetsBatch reports whether the trainer of a script's program has a default for the batch.
func (s *Source) trainerSetsBatch() bool {
	return s.program != nil && slices.ContainsFunc(s.program.ForSetting("batch"), func(k *systems.Key) bool { return k.Default != "" })
}

// withoutSettings returns the error for a named file that contains no settings.
func (p *Found) withoutSettings(name string) error {
	data, err := p.files.ReadFile(name)
	format, _ := doc.FormatOf(name, data)
	switch {
	case err == nil && format == doc.Shell:
		return p.scriptWithoutSettings(name)
	case err != nil || format != doc.Python:
		return noSettings(name)
	}
	text := string(data)
	at := parsesFlags.Index(text)
	if at == nil {
		return programWithoutSettings(name, text)
	}
	by := text[at[0]:at[1]]
	line := 1 + strings.Count(text[:at[1]], "\n") - strings.Count(strings.TrimLeft(by, "\n"), "\n")
	if at[2] >= 0 {
		by = text[at[2]:at[3]]
		for _, class := range strings.FieldsFunc(text[at[4]:at[5]], func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) }) {
			if _, does := systems.ObjectiveOf(class); does != "" {
				return fmt.Errorf("%s:%d: %s %s; this is not estimated; measure it: snug profile -- <your command>", name, line, class, does)
			}
		}
	} else {
		by = text[at[6]:at[7]]
	}
	script, others := "run.sh", ""
	if found := p.starters(name); len(found) > 0 {
		script = found[0]
		if len(found) > 1 {
			others = " (or " + Enumerate(found[1:]) + ")"
		}
	}
	return fmt.Errorf("%s:%d: the program takes its settings from flags (%s); name the shell script that starts it with them: --config-path %s%s, or give them: --model NAME --batch N --seq N", name, line, by, script, others)
}

// programWithoutSettings returns the error for a program that takes no flags and has no settings that can be read.
func programWithoutSettings(name, text string) error {
	if word, does := systems.ObjectiveOfProgram(path.Base(name)); does != "" && !strings.Contains(text, "sentence_transformers") && !strings.Contains(text, ".backward(") {
		return fmt.Errorf("training: %s: judging by its name (%s), it %s; this is not estimated; measure it: snug profile -- python3 %s", name, word, does, name)
	}
	at := trainsHere.Index(text)
	if at == nil {
		return noSettings(name)
	}
	line := 1 + strings.Count(text[:at[2]], "\n")
	return fmt.Errorf("%s:%d: %s trains a model here, but no file contains the batch; give --model NAME --batch N --seq N, or measure it: snug profile -- python3 %s",
		name, line, strings.TrimLeft(text[at[2]:at[3]], "= \t"), name)
}

// trainsHere matches code that trains: a backward pass, or a trainer's method.
var trainsHere = pattern.New(`(?m)^[^#\n]*?(\b[\w.]+\.backward|\b\w*(?:[tT]rainer|lightning|pl)\w*\.(?:fit|train|run)|=[ \t]*[\w.]*Trainer)\(`, "backward(", "rainer", "fit(")

// scriptWithoutSettings returns the error for a shell script whose commands get no known setting.
func (p *Found) scriptWithoutSettings(name string) error {
	d := p.opened(name)
	if d == nil {
		return noSettings(name)
	}
	s := NewSource(name, systems.Shell(), tree.New(tree.Layer{File: name, Doc: d}))
	for _, c := range s.System.Commands.Refuses {
		if at := c.Text.Index(d.Text()); at != nil {
			return fmt.Errorf("training: %s: %s %s; this is not estimated; measure it: snug profile -- <your command>", s.LineOf(d, at[2]), Submatch(d, at, 1), c.Does)
		}
	}
	if at := hereDocument.Index(d.Text()); at != nil {
		group := 2 // the position of the file's name: before or after the here-document
		if at[group] < 0 {
			group = 4
		}
		file := d.Text()[at[group]:at[group+1]]
		if strings.Count(d.Text(), path.Base(file)) > 1 { // it is also passed to something
			return fmt.Errorf("%s: the script writes %s itself, and that file is not here yet; run that part of the script once, and then name the file: --config-path %s", s.LineOf(d, at[0]), file, file)
		}
	}
	started := slices.DeleteFunc(s.Started(), func(p StartedProgram) bool { return strings.HasPrefix(p.Name, "python") })
	if len(started) == 0 {
		return noSettings(name)
	}
	first := started[0]
	if word, does := systems.ObjectiveOfProgram(first.Name); does != "" {
		return fmt.Errorf("training: %s:%d: %s %s, judging by its name (%s); this is not estimated; measure it: snug profile -- bash %s", name, first.Line, first.Name, does, word, name)
	}
	return fmt.Errorf("%s:%d: %s gets no batch here, and no file contains the batch; if it reads a config, name it: --config-path FILE, or give --model NAME --batch N --seq N", name, first.Line, first.Name)
}

// hereDocument matches a command that writes a config from a here-document: cat > a.yaml <<EOF, or the other way round.
var hereDocument = pattern.New(`(?m)^[^#\n]*?(?:\b(?:cat|tee)\b[^\n<]*?[> ]"?([\w./-]+\.(?:ya?ml|json|toml))"?\s*<<|<<[^\n]*>\s*"?([\w./-]+\.(?:ya?ml|json|toml)))`, "<<")

// noSettings returns the error for a file that is not a config.
func noSettings(name string) error {
	return fmt.Errorf("%s contains no setting that snug knows; bind one in snug.yaml: snug init", name)
}
