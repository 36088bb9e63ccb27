// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"slices"
	"snug/internal/config/doc"
	"snug/internal/pattern"
	"strings"
)

// Which model a script trains stands where it loads it: from_pretrained("gpt2") of a
// class that is a model's, or SFTTrainer(model="gpt2"). Tokenizers and configs are
// loaded by the same name and are not the model.

// findType is the type that a script loads its model in, "" where it names none.
func (s *source) findType() string {
	if found := newDType.Find(s.tree.layers[0].doc.Text()); found != nil {
		return found[1]
	}
	return ""
}

var newDType = pattern.New(`\bfrom_pretrained\((?:[^()]|\([^()]*\))*?[\s,(](?:torch_)?dtype\s*=\s*(?:torch\.|["'])?([a-z0-9]+)`, "from_pretrained(")

// loading is the model that a script loads, and with which head.
type loading struct {
	name, head string
	// class is what has that head, and where it stands.
	class, where string
	// inScript is that the script has the model itself, rather than its trainer.
	inScript bool
}

const aName = `("[^"\n]*"|'[^'\n]*'|[A-Za-z_][\w.]*)`

var (
	fromPretrainedCall = pattern.New(`(?m)^[^#\n]*?\b(\w*Model\w*|\w+For[A-Z]\w+)\.from_pretrained\(\s*(?:pretrained_model_name_or_path\s*=\s*)?`+aName, ".from_pretrained(")
	exampleProgram     = pattern.New(`(?m)^[^#\n]*?\b(run_(?:glue|qa|ner|swag|classification|xnli)(?:_no_trainer|_beam_search)?\.py)\b`,
		"run_glue", "run_qa", "run_ner", "run_swag", "run_classification", "run_xnli")
)

// encoders are endings of classes without logits over the vocabulary: what trains is
// counted as a sentence encoder. So is a model without any head (BertModel).
var encoders = []string{"ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering", "ForMultipleChoice"}

// findModel is what a script says of its model.
func (s *source) findModel() loading {
	d := s.tree.layers[0].doc
	switch d.Format() {
	case doc.Shell:
		return s.startsExample(d)
	case doc.Python:
		if l := s.loadsModel(d); l.class != "" {
			return l
		}
		if name := trainerModel(d.Text()); name != "" {
			return loading{name: s.literal(name)}
		}
	}
	return loading{}
}

// startsExample is the head that one of transformers' examples trains.
func (s *source) startsExample(d *doc.Document) loading {
	at := exampleProgram.Index(d.Text())
	if at == nil {
		return loading{}
	}
	return loading{head: "encoder", class: group(d, at, 1), where: s.lineOf(d, at[2])}
}

// loadsModel is the first model that a script loads by its class.
func (s *source) loadsModel(d *doc.Document) loading {
	text := d.Text()
	for from := 0; ; {
		at := fromPretrainedCall.Index(text[from:])
		if at == nil {
			return loading{}
		}
		class := text[from+at[2] : from+at[3]]
		if !strings.HasPrefix(class, "Peft") && !strings.HasPrefix(class, "AutoPeft") {
			name := text[from+at[4] : from+at[5]]
			return loading{name: s.literal(name), head: headOf(class), class: class, where: s.lineOf(d, from+at[2]), inScript: true}
		}
		end := strings.IndexByte(text[from+at[1]:], '\n')
		if end < 0 {
			return loading{}
		}
		from += at[1] + end
	}
}

// headOf is the head that a class of models is counted with, "" for its own.
func headOf(class string) string {
	bare := strings.HasSuffix(class, "Model") && !strings.HasSuffix(class, "LMHeadModel")
	if bare || slices.ContainsFunc(encoders, func(e string) bool { return strings.HasSuffix(class, e) }) {
		return "encoder"
	}
	return ""
}

// literal is a text in quotes, or the one that the file binds a name to, as an
// argument's default too.
func (s *source) literal(text string) string {
	if strings.ContainsAny(text, `"'`) {
		return strings.Trim(text, `"'`)
	}
	last := strings.ToLower(text[strings.LastIndex(text, ".")+1:])
	var found []string
	for _, v := range s.tree.index().named(last) {
		if value, ok := v.value.Data.(string); ok && !slices.Contains(found, value) {
			found = append(found, value)
		}
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

func group(d *doc.Document, at []int, n int) string {
	if at[2*n] < 0 {
		return ""
	}
	return d.Text()[at[2*n]:at[2*n+1]]
}

func (s *source) lineOf(d *doc.Document, offset int) string {
	return fmt.Sprintf("%s:%d", s.file, 1+strings.Count(d.Text()[:offset], "\n"))
}
