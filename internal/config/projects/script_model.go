// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"fmt"
	"slices"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/pattern"
)

// The model that a script trains is read from where the script loads it: from_pretrained("gpt2") of a model
// class, or SFTTrainer(model="gpt2"). Tokenizers and configs have the same method but are not the model.

// findType returns the type that a script loads its model in, or "" if it specifies none.
func (s *Source) findType() string {
	if found := newDType.Find(s.code()); found != nil {
		return found[1]
	}
	return ""
}

var newDType = pattern.New(`\bfrom_pretrained\((?:[^()]|\([^()]*\))*?[\s,(](?:torch_)?dtype\s*=\s*(?:torch\.|["'])?([a-z0-9]+)`, "from_pretrained(")

// LoadedModel is the model that a script loads, and with which head.
type LoadedModel struct {
	Name, Head string // "" if unknown
	// Class is the class with that head, and Where is its position.
	Class, Where string
	// ByScript means that the script, not the trainer, loads the model.
	ByScript bool
}

const nameExpression = `("[^"\n]*"|'[^'\n]*'|[A-Za-z_][\w.]*)`

var (
	fromPretrainedCall = pattern.New(`(?m)^[^#\n]*?\b(\w*Model\w*|\w+For[A-Z]\w+)\.from_pretrained\(\s*(?:pretrained_model_name_or_path\s*=\s*)?`+nameExpression, ".from_pretrained(")
	exampleProgram     = pattern.New(`(?m)^[^#\n]*?\b(run_(?:glue|qa|ner|swag|classification|xnli)(?:_\w+)?\.py)\b`,
		"run_glue", "run_qa", "run_ner", "run_swag", "run_classification", "run_xnli")
)

// heads maps name endings of classes without logits over the vocabulary to their heads. A model without a head
// (BertModel) is estimated as a sentence encoder.
var heads = []struct{ ending, head string }{
	{"ForSequenceClassification", "sequence-classification"}, {"ForTokenClassification", "token-classification"},
	{"ForQuestionAnswering", "question-answering"}, {"ForMultipleChoice", "multiple-choice"},
}

// exampleHeads maps parts of the names of transformers' examples to their heads.
var exampleHeads = []struct{ part, head string }{
	{"ner", "token-classification"}, {"qa", "question-answering"}, {"swag", "multiple-choice"}, {"", "sequence-classification"},
}

// findModel returns the model that a script loads.
func (s *Source) findModel() LoadedModel {
	d := s.Tree.Layers[0].Doc
	switch d.Format() {
	case doc.Shell:
		return s.exampleHead(d)
	case doc.Python:
		if l := s.classModel(d); l.Class != "" {
			return l
		}
		if name := trainerModel(s.code()); name != "" {
			return LoadedModel{Name: s.literal(name)}
		}
	}
	return LoadedModel{}
}

// exampleHead returns the head that one of transformers' examples trains.
func (s *Source) exampleHead(d *doc.Document) LoadedModel {
	at := exampleProgram.Index(d.Text())
	if at == nil {
		return LoadedModel{}
	}
	class := Submatch(d, at, 1)
	for _, x := range exampleHeads {
		if strings.HasPrefix(class, "run_"+x.part) {
			return LoadedModel{Head: x.head, Class: class, Where: s.LineOf(d, at[2])}
		}
	}
	return LoadedModel{}
}

// classModel returns the first model that a script loads by its class.
func (s *Source) classModel(d *doc.Document) LoadedModel {
	text := s.code()
	for from := 0; ; {
		at := fromPretrainedCall.Index(text[from:])
		if at == nil {
			return LoadedModel{}
		}
		class := text[from+at[2] : from+at[3]]
		if !strings.HasPrefix(class, "Peft") && !strings.HasPrefix(class, "AutoPeft") {
			name := text[from+at[4] : from+at[5]]
			return LoadedModel{Name: s.literal(name), Head: headOf(class), Class: class, Where: s.LineOf(d, from+at[2]), ByScript: true}
		}
		end := strings.IndexByte(text[from+at[1]:], '\n')
		if end < 0 {
			return LoadedModel{}
		}
		from += at[1] + end
	}
}

// headOf returns the head that a model class is estimated with, or "" for the model's own.
func headOf(class string) string {
	bare := strings.HasSuffix(class, "Model") && !strings.HasSuffix(class, "LMHeadModel")
	if bare {
		return "encoder"
	}
	for _, x := range heads {
		if strings.HasSuffix(class, x.ending) {
			return x.head
		}
	}
	return ""
}

// literal returns the text of a quoted string, or of the string that the file assigns to a name, including as
// an argument's default.
func (s *Source) literal(text string) string {
	if strings.ContainsAny(text, `"'`) {
		return strings.Trim(text, `"'`)
	}
	last := strings.ToLower(text[strings.LastIndex(text, ".")+1:])
	var found []string
	for _, v := range s.Tree.Index().Named(last) {
		if value, ok := v.Value.Data.(string); ok && !slices.Contains(found, value) {
			found = append(found, value)
		}
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// Submatch returns the text of group n of a match; at contains the offsets of the match.
func Submatch(d *doc.Document, at []int, n int) string {
	if at[2*n] < 0 {
		return ""
	}
	return d.Text()[at[2*n]:at[2*n+1]]
}

// LineOf returns file:line of a byte in a document.
func (s *Source) LineOf(d *doc.Document, offset int) string {
	return fmt.Sprintf("%s:%d", s.File, 1+strings.Count(d.Text()[:offset], "\n"))
}
