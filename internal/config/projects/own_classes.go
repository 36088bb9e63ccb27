// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"path"
	"regexp"
	"strings"

	"snug/internal/pattern"
)

// A program may train a model class that the project defines: one with another loss, more heads or several encoders. What such
// a class allocates is only in its code, even if its weights are those of a known model.

// These match the definition of a class: any, or one that is derived from one of transformers' models.
var (
	anyClass = pattern.New(`(?m)^class[ \t]+(\w+)[ \t]*[(:]`, "class")
	ownModel = pattern.New(`(?m)^class[ \t]+(\w+)[ \t]*\([^)\n]*(?:PreTrainedModel|For[A-Z]\w*|LMHeadModel)\b[^)\n]*\)`, "PreTrainedModel", "For", "LMHeadModel")
)

// loadsClass matches a class that loads or creates weights, and notModel the names of classes that do so without being models.
var (
	loadsClass = pattern.New(`(?m)^[^#\n]*?\b([A-Z]\w*)\._?from_(?:pretrained|config)\(`, ".from_pretrained(", "from_config(")
	notModel   = pattern.New(`Tokenizer|Config|Processor|Extractor|Scheduler|Dataset|Pipeline|Args|Arguments`)
)

// OwnModelClass returns a model class that a program loads and that the project defines, with the place; "" if there is none.
func (p *Found) OwnModelClass(e ExecutedProgram) (class, where string) {
	modules := p.Modules(e.ProgramText)
	defined := map[string]bool{}
	for _, m := range append([]ProgramText{e.ProgramText}, modules...) {
		for _, c := range anyClass.Regexp().FindAllStringSubmatch(m.Text, -1) {
			defined[c[1]] = true
		}
	}
	code := e.Code()
	if class, at := loadedOf(defined, code); class != "" {
		return class, e.LineOf(at)
	}
	if !strings.Contains(code, ".from_") { // it calls a module that trains
		for _, m := range modules {
			if class, at := loadedOf(defined, m.Text); class != "" && trainsHere.In(m.Text) {
				return class, m.LineOf(at)
			}
		}
	}
	for _, m := range append([]ProgramText{e.ProgramText}, modules...) {
		for _, c := range ownModel.Regexp().FindAllStringSubmatch(m.Text, -1) {
			if at := max(inTable(code, c[1]), madeAt(code, c[1])); at >= 0 {
				return c[1], e.LineOf(at)
			}
		}
	}
	return "", ""
}

// loadedOf returns the first of the defined classes that code loads a model with.
func loadedOf(defined map[string]bool, code string) (class string, at int) {
	for _, m := range loadsClass.Regexp().FindAllStringSubmatchIndex(code, -1) {
		if name := code[m[2]:m[3]]; defined[name] && !notModel.In(name) {
			return name, m[2]
		}
	}
	return "", -1
}

// inTable returns the offset where code names a class among others, as in a table of classes by model type; -1 if it does not.
func inTable(code, class string) int {
	use := regexp.MustCompile(`[(,][ \t]*` + regexp.QuoteMeta(class) + `[ \t]*[,)]`)
	for _, at := range use.FindAllStringIndex(code, -1) {
		line := strings.TrimSpace(code[1+strings.LastIndexByte(code[:at[0]], '\n') : at[1]])
		if !strings.HasPrefix(line, "class ") && !strings.HasPrefix(line, "from ") && !strings.Contains(line, "isinstance(") {
			return at[0]
		}
	}
	return -1
}

// madeAt returns the offset where code makes a model of a class from its config, as in model = BertForChoices(config); -1 if
// it does not.
func madeAt(code, class string) int {
	if at := regexp.MustCompile(`(?m)^[ \t]*(?:self\.)?\w*model\w*[ \t]*=[ \t]*(?:\w+\.)*` + regexp.QuoteMeta(class) + `\(`).FindStringIndex(code); at != nil {
		return at[0]
	}
	return -1
}

// importedFrom matches the module of an import of names, or of all names.
var importedFrom = pattern.New(`(?m)^[ \t]*from[ \t]+([\w.]+)[ \t]+import\b`, "import")

// Modules returns the project's modules that a program imports, and those that they import.
func (p *Found) Modules(program ProgramText) (out []ProgramText) {
	tried := map[string]bool{program.File: true}
	last := []ProgramText{program}
	for range maxImports {
		var found []ProgramText
		for _, from := range last {
			found = append(found, p.importedModules(from, tried)...)
		}
		out, last = append(out, found...), found
	}
	return out
}

// maxImports limits how far imports are followed: from a program that only starts another one, to a package, to its
// modules, to the module with the class.
const maxImports = 4

// importedModules returns the project's modules that a module imports from, except those that have been tried.
func (p *Found) importedModules(from ProgramText, tried map[string]bool) (out []ProgramText) {
	for _, m := range importedFrom.Regexp().FindAllStringSubmatch(from.Text, -1) {
		for _, file := range moduleFiles(path.Dir(from.File), []string{m[0], m[1], ""}) {
			for _, at := range []string{file, strings.TrimSuffix(file, ".py") + "/__init__.py"} {
				if tried[at] || len(tried) > 16*maxImported {
					continue
				}
				tried[at] = true
				if text, err := p.files.ReadFile(at); err == nil && len(text) <= largestFile {
					out = append(out, ProgramText{File: at, Text: string(text)})
				}
			}
		}
	}
	return out
}
