// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"snug/internal/config/projects"
	"snug/internal/config/systems"
)

const snugHead = `# snug.yaml: where this project keeps the settings that affect GPU memory.
# snug wrote this file from what it found; edit it as you like.
`

const snugEmpty = `
# snug found no settings that it knows. Remove the # from the lines you need.
# model:
#   name: gpt2                       # or config: path/to/config.json
# bind:                              # setting: file#path.to.key
#   batch: config.yaml#train.batch_size
#   accumulation: config.yaml#train.accumulation_steps
# set:                               # values that no file sets
#   seq: 512
`

// NewSnugFile returns a commented snug.yaml for a project, or a template if p is nil because nothing was
// found. projects/snugfile.go reads it.
func NewSnugFile(p *Project) []byte {
	b := bytes.NewBufferString(snugHead)
	if p == nil || len(p.Bound) == 0 {
		b.WriteString(snugEmpty)
		return b.Bytes()
	}
	p.writeModel(b)
	p.writeFiles(b)
	p.writeBindings(b)
	p.writeUnset(b)
	return b.Bytes()
}

// SnugFileName is the name of the file that NewSnugFile writes.
const SnugFileName = projects.SnugFile

func (p *Project) writeModel(b *bytes.Buffer) {
	b.WriteString("\n# The model: a built-in name, org/name, config: path/to/config.json or profile:\n# a recording of your own code (snug profile).\n")
	model := p.BindingsOf("model")
	name, ok := p.Value("model").(string)
	if p.Own == nil && ok && name != "" && len(model) > 0 {
		stands := fmt.Sprintf("# It is set in %s: %s.", model[0].Where(), name)
		if utf8.RuneCountInString(stands) > pageWidth {
			stands = fmt.Sprintf("# It is set in %s:\n# %s.", model[0].Where(), name)
		}
		fmt.Fprintf(b, "%s\n# model:\n#   name: %s\n", stands, p.ModelName(name))
		return
	}
	b.WriteString("# model:\n#   name: gpt2\n")
}

// writeFiles lists the files, main file first.
func (p *Project) writeFiles(b *bytes.Buffer) {
	var names []string
	if p.Primary != nil {
		names = append(names, p.Primary.File)
	}
	for _, x := range p.Bound {
		if x.Source.Link == nil && !slices.Contains(names, x.Source.File) {
			names = append(names, x.Source.File)
		}
	}
	b.WriteString("\n# Read only these files.\nfiles:\n")
	for _, name := range names {
		fmt.Fprintf(b, "  - %s\n", yamlText(name))
	}
}

// writeBindings lists each setting and where it is. Settings found by name alone are bound, so that the user
// can correct a wrong guess; settings of a known system are only shown in comments.
func (p *Project) writeBindings(b *bytes.Buffer) {
	var lines []bindingLine
	bindable := false
	for _, setting := range systems.SettingNames() {
		if p.IsUnused(setting) {
			continue
		}
		of, binds := p.bindingLines(setting)
		lines = append(lines, of...)
		bindable = bindable || binds
	}
	b.WriteString("\n# setting: file#path.to.key, or a list of them.")
	if !bindable {
		b.WriteString(" snug knows\n# this trainer's keys, so this section is only for information.\n# bind:\n")
	} else {
		b.WriteString("\nbind:\n")
	}
	writeComments(b, lines)
}

// bindingLines returns a setting's lines, one per binding with its value; binds reports whether they are
// written as bindings or only as comments.
func (p *Project) bindingLines(setting string) (lines []bindingLine, binds bool) {
	of := p.BindingsOf(setting)
	binds = len(of) > 0 && !slices.ContainsFunc(of, func(x projects.Bound) bool { return !readsAlone(x) })
	head := "  "
	if !binds {
		head = "#   "
	}
	if len(of) > 1 {
		lines = append(lines, bindingLine{text: head + setting + ":"})
	}
	for _, x := range of {
		place := x.File + "#" + x.Path.String()
		if x.Key.Inverted {
			place = "not " + place
		}
		l := bindingLine{head + setting + ": " + yamlText(place), oneLine(x.Text), x.System}
		if len(of) > 1 {
			l.text = head + "  - " + yamlText(place)
		}
		if x.Source.System.ByName {
			l.system = ""
		}
		lines = append(lines, l)
	}
	return lines, binds
}

// readsAlone reports whether a binding in snug.yaml would read and write the value in the same way.
func readsAlone(x projects.Bound) bool {
	if a := x.Source.System; !a.ByName && !a.OwnProgram || x.Key.OverGPUs && x.Setting != "effective" {
		return false
	}
	k, err := projects.OwnKey(projects.OwnBinding{Setting: x.Setting, Path: x.Path, Not: x.Key.Inverted})
	if err != nil {
		return false
	}
	if len(x.Key.Words) > 0 && !reflect.DeepEqual(k.Words, x.Key.Words) {
		return false
	}
	v, err := projects.Read(k, x.Source.Tree, x.Place)
	return err == nil && reflect.DeepEqual(v, x.Value)
}

// writeUnset lists the settings that no file sets.
func (p *Project) writeUnset(b *bytes.Buffer) {
	b.WriteString("\n# Values that no file sets.\n# set:\n")
	for _, s := range []struct{ name, example string }{
		{"seq", "512"}, {"precision", "amp-bf16"}, {"optimizer", "adamw"}, {"checkpointing", "false"}, {"attention", "sdpa"}, {"dist.world", "1"},
	} {
		if p.Value(s.name) == nil && p.DefaultValue(s.name) == nil {
			fmt.Fprintf(b, "#   %s: %s\n", s.name, s.example)
		}
	}
}

// yamlText quotes text that YAML would read as something else.
func yamlText(text string) string {
	if strings.ContainsAny(text, ":#{}[]&*!|>'\"%@`,\\ ") && strings.ContainsAny(text, ":{}[]&*!|>'\"%@`,\\") || strings.Contains(text, " #") {
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	return path.Clean(text)
}
