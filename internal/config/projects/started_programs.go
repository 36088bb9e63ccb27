// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/systems"
)

// StartedProgram is a program that a shell script starts for training.
type StartedProgram struct {
	Name string // its file, its module, or its command with the words after it
	Line int    // where the script names it

	hasBatch bool // the batch is among its flags
}

// Started returns the programs that a shell script trains with: the one that gets the batch, or else all whose
// names do not indicate another task.
func (s *Source) Started() []StartedProgram {
	var out []StartedProgram
	for _, p := range s.commands() {
		if p.trainsNothing() {
			continue
		}
		if p.hasBatch {
			return []StartedProgram{p}
		}
		out = append(out, p)
	}
	return out
}

// OnlyUses returns the program that a shell script passes its batch to, if its name shows that it evaluates,
// serves or converts a model and the script starts no other program.
func (s *Source) OnlyUses() (p StartedProgram, ok bool) {
	all := s.commands()
	i := slices.IndexFunc(all, func(p StartedProgram) bool { return p.hasBatch })
	if i < 0 || slices.ContainsFunc(all, func(p StartedProgram) bool { return !p.trainsNothing() }) {
		return StartedProgram{}, false
	}
	return all[i], true
}

// findCommands returns the programs of a shell script's commands.
func (s *Source) findCommands() []StartedProgram {
	var out []StartedProgram
	batch := s.batchKeys()
	for _, c := range s.Tree.Layers[0].Doc.Commands() {
		if p := programOf(c); p.Name != "" {
			p.hasBatch = slices.ContainsFunc(batch, func(key string) bool { return c.Keys[key] || c.Environment[key] || c.Passes[key] })
			out = append(out, p)
		}
	}
	return out
}

// trainsNothing reports whether a program's name indicates a task other than training.
func (p StartedProgram) trainsNothing() bool {
	words := strings.FieldsFunc(strings.ToLower(strings.TrimSuffix(path.Base(p.Name), ".py")), func(c rune) bool { return c == '_' || c == '-' || c == '.' || c == ' ' })
	has := func(of []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(of, w) })
	}
	return has(usingWords) && !has([]string{"train", "training", "trainer", "finetune", "finetuning", "tune", "tuning", "sft", "pretrain", "run"})
}

// usingWords are words in the names of programs that use a model instead of training it.
var usingWords = []string{
	"eval", "evaluate", "evaluation", "test", "testing", "infer", "inference", "predict", "prediction", "generate", "generation", "serve", "server", "deploy",
	"export", "merge", "convert", "tokenize", "preprocess", "prepare", "quantize", "demo", "download",
	"benchmark", "chat", "install", "upload", "visualize", "plot", "rollout", "client",
}

// batchKeys returns the keys of a script that pass a program its batch.
func (s *Source) batchKeys() []string {
	var out []string
	found, _ := s.Bind()
	for _, b := range found {
		if b.Setting == "batch" && len(b.Place.At) > 0 {
			out = append(out, b.Place.At[0])
		}
	}
	return out
}

// programOf returns the program of a command: a Python file, a module, or the words that are not flags.
func programOf(c doc.Command) StartedProgram {
	if len(c.Words) > 0 && (c.Words[0] == "echo" || c.Words[0] == "printf") {
		return StartedProgram{}
	}
	c = unquoted(c)
	for i, w := range c.Words {
		if strings.HasSuffix(w, ".py") {
			return StartedProgram{Name: w, Line: c.Lines[i]}
		}
	}
	for i, w := range c.Words {
		if w == "-m" && i+1 < len(c.Words) && !slices.Contains(launcherModules, c.Words[i+1]) {
			return StartedProgram{Name: strings.ReplaceAll(c.Words[i+1], ".", "/"), Line: c.Lines[i]}
		}
	}
	if len(c.Words) == 0 || slices.Contains(otherTools, c.Words[0]) || !slices.ContainsFunc(c.Words, func(w string) bool { return strings.HasPrefix(w, "--") }) {
		return StartedProgram{}
	}
	return StartedProgram{Name: strings.Join(ownWords(c.Words), " "), Line: c.Lines[0]}
}

// unquoted returns a command with quoted texts split into words, as in cmd="torchrun train.py --lr 1".
func unquoted(c doc.Command) doc.Command {
	var out doc.Command
	for i, w := range c.Words {
		for field := range strings.FieldsSeq(w) {
			out.Words = append(out.Words, strings.Trim(field, `"'`))
			out.Lines = append(out.Lines, c.Lines[i])
		}
	}
	return out
}

// ownWords returns the words of a command that are neither flags nor their values, nor files.
func ownWords(words []string) []string {
	var out []string
	for i, w := range words {
		_, file := doc.FormatOf(w, nil)
		value := i > 0 && strings.HasPrefix(words[i-1], "-") && !strings.Contains(words[i-1], "=")
		if !file && !value && !strings.HasPrefix(w, "-") && !strings.ContainsAny(w, "=$/") {
			out = append(out, w)
		}
	}
	return out
}

var (
	// launcherModules are Python modules that start other programs.
	launcherModules = []string{"torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch"}
	// otherTools are commands that do not train.
	otherTools = []string{"echo", "cd", "mkdir", "rm", "cp", "mv", "ls", "cat", "git", "pip", "pip3", "uv", "conda", "wget", "curl", "tar", "export", "source", "docker", "huggingface-cli", "hf", "aws", "gsutil", "rsync"}
)

// ProgramText is a program in the folder that a script starts.
type ProgramText struct {
	File string // relative to the folder
	Text string // its contents
}

// LineOf returns the file and line of an offset in the text.
func (p ProgramText) LineOf(offset int) string {
	return fmt.Sprintf("%s:%d", p.File, 1+strings.Count(p.Text[:offset], "\n"))
}

// ProgramTexts returns the Python programs that a shell script trains with, if they are in the folder.
func (s *Source) ProgramTexts(files Files) []ProgramText {
	if s.System.Commands == nil {
		return s.parsing(files)
	}
	var out []ProgramText
	for _, p := range s.Started() {
		name := p.Name
		if !strings.HasSuffix(name, ".py") {
			name += ".py"
		}
		for _, at := range placesOf(s.File, name) {
			if text := s.programText(files, at); text != (ProgramText{}) {
				out = append(out, text)
				break
			}
		}
	}
	return out
}

// parsing returns the only program next to a file of a trainer's arguments, or in the project's folder, whose parser
// accepts such a file; nil if there is none, or several.
func (s *Source) parsing(files Files) []ProgramText {
	if s.Tree.Layers[0].Doc.Format() == doc.Python {
		return nil
	}
	var out []ProgramText
	for _, folder := range slices.Compact([]string{".", path.Dir(s.File)}) {
		entries, err := files.ReadDir(folder)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if path.Ext(e.Name()) != ".py" || !e.Type().IsRegular() {
				continue
			}
			program := s.programText(files, path.Join(folder, e.Name()))
			if of := systems.OfParser(program.Text); of != nil && of.ParsesFileOf(s.System) {
				out = append(out, program)
			}
		}
	}
	if len(out) > 1 {
		return nil
	}
	return out
}

// programText reads a program; it returns "" if there is none.
func (s *Source) programText(files Files, name string) ProgramText {
	if path.IsAbs(name) || strings.HasPrefix(name, "..") || strings.ContainsAny(name, "$ ") {
		return ProgramText{}
	}
	text, err := files.ReadFile(name)
	if err != nil || len(text) > largestFile {
		return ProgramText{}
	}
	return ProgramText{name, string(text)}
}
