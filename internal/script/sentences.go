// SPDX-License-Identifier: Apache-2.0

package script

import (
	"fmt"
	"slices"
	"strings"

	"snug/internal/shadow"
)

// Native functions for the files of site-packages that stand in for sentence-transformers.

func registerSentences() {
	for name, f := range map[string]func(*interpreter, arguments) value{
		"sentences": sentences, "texts": plainTexts, "tokens": tokens, "columns": columnsOf, "different": different,
		"whole": func(in *interpreter, _ arguments) value { return in.Whole }, "every": every, "refuse": refused, "is_known": isKnown, "same_tokens": sameTokens, "text_limit": textLimit,
	} {
		natives["snug."+name] = f
	}
}

// every implements snug.every(stop, step), a range whose numbers are all followed.
func every(_ *interpreter, a arguments) value {
	stop, _ := a.or(0, "stop", 0).(int)
	step, _ := a.or(1, "step", 1).(int)
	var ns []int
	for n := 0; n < stop; n += max(step, 1) {
		ns = append(ns, n)
	}
	return whole(ns)
}

// refused implements snug.refuse(…) in a library file: it ends a script whose run is not simulated.
func refused(in *interpreter, a arguments) value {
	text, _ := a.or(0, "", "").(string)
	panic(stopped{&Unsimulated{fmt.Sprintf("%s: %s; record the run: snug profile -- python3 %s", in.place(), text, in.File.Path)}})
}

// isKnown reports whether a value is known. An object from a library that is not followed is unknown.
func isKnown(_ *interpreter, a arguments) value {
	switch a.or(0, "", unknown{}).(type) {
	case unknown, namespace:
		return false
	}
	return true
}

// sameTokens reports whether two models have the same vocabulary, judging by their types and the number of its
// entries.
func sameTokens(in *interpreter, a arguments) value {
	one, _ := a.or(0, "", nil).(*network)
	other, _ := a.or(1, "", nil).(*network)
	if one == nil || other == nil {
		return true
	}
	same := func(key string) bool { return one.config.get(in, key) == other.config.get(in, key) }
	return same("model_type") && same("vocab_size")
}

// labelsOf returns the labels of a batch: one number for each sample, several, or none.
func (in *interpreter) labelsOf(perSample int) value {
	switch {
	case perSample == 0:
		return nil
	case perSample == 1:
		return &hostTensor{size: []int{in.collating}, dtype: shadow.Float32}
	}
	return &hostTensor{size: []int{in.collating, perSample}, dtype: shadow.Float32}
}

// sentences implements snug.sentences(columns, labels, width): a tokenized batch of texts in the given number of
// columns. The name of each tensor starts with its column's name. Labels are numbers, or embeddings of the given width.
func sentences(in *interpreter, a arguments) value {
	columns, _ := a.or(0, "columns", 2).(int)
	perSample, _ := a.or(1, "labels", 0).(int)
	if a.or(1, "labels", nil) == "embedding" {
		perSample, _ = a.or(2, "width", 0).(int)
	}
	out := &dict{record: true, batch: true, sized: true}
	if labels := in.labelsOf(perSample); labels != nil {
		out.set("label", labels)
	}
	for i := range columns {
		in.tokenize(out, fmt.Sprintf("sentence_%d_", i), in.collating)
	}
	return out
}

// plainTexts implements snug.texts(columns, labels, docs): a batch of texts that are not tokenized yet. A column is the number
// of its texts, or of its texts and of the documents that each has.
func plainTexts(in *interpreter, a arguments) value {
	columns, _ := a.or(0, "columns", 2).(int)
	perSample, _ := a.or(1, "labels", 0).(int)
	docs, _ := a.or(2, "docs", 0).(int)
	out := &dict{record: true, batch: true, sized: true}
	if labels := in.labelsOf(perSample); labels != nil && docs == 0 {
		out.set("label", labels)
	}
	if docs > 0 {
		lists := &list{}
		for range in.collating {
			lists.items = append(lists.items, &hostTensor{size: []int{docs}, dtype: shadow.Float32})
		}
		out.set("label", lists)
	}
	for i := range columns {
		var column value = in.collating
		if docs > 0 && i == 1 {
			column = tupleOf(in.collating, docs)
		}
		out.set(fmt.Sprintf("column_%d", i), column)
	}
	return out
}

// tokens implements snug.tokens(rows, most): what a tokenizer makes of some texts, with at most this many tokens.
func tokens(in *interpreter, a arguments) value {
	rows, _ := a.or(0, "rows", in.Batch).(int)
	out := &dict{record: true, batch: true, sized: true}
	in.tokenize(out, "", rows)
	if most, ok := a.or(1, "most", nil).(int); ok {
		for _, v := range out.vals {
			if t, ok := v.(*hostTensor); ok {
				t.size[1] = min(t.size[1], most)
			}
		}
	}
	return out
}

// tokenize adds the tensors of tokenized texts to a batch.
func (in *interpreter) tokenize(batch *dict, prefix string, rows int) {
	batch.set(prefix+"input_ids", in.field("input_ids", rows))
	if kinds, ok := in.Config["type_vocab_size"].(float64); ok && kinds > 1 {
		batch.set(prefix+"token_type_ids", in.field("input_ids", rows))
	}
	batch.set(prefix+"attention_mask", in.field("attention_mask", rows))
}

// columnsOf implements snug.columns(dataset, columns, any, labels, lists) for a loss: how many texts and labels a sample
// has, and how many documents, if they are a list. The dataset decides if its columns are known, then the setup's
// positives and negatives, then the loss.
func columnsOf(in *interpreter, a arguments) value {
	columns, _ := a.or(1, "columns", 2).(int)
	open, _ := a.or(2, "any", false).(bool)
	lists, _ := a.or(4, "lists", false).(bool)
	given := in.against()
	t := in.tableIn(a.or(0, "dataset", nil))
	docs := 0
	switch {
	case lists:
		docs = in.documents(t, given)
	case t != nil:
		columns = len(t.texts)
	case open && given > 0:
		columns = 1 + given
	case open && in.survey == nil:
		how := "give it with --positives and --negatives (--positives 1 for pairs)"
		if columns == 1 {
			how = "record the run: snug profile -- python3 " + in.File.Path
		}
		panic(stopped{&Unsimulated{fmt.Sprintf("%s: the number of texts in a sample depends on the data; %s", in.place(), how)}})
	}
	labels := a.or(3, "labels", 0)
	switch labels {
	case "negatives":
		labels = columns - 2
	case "documents":
		labels = columns - 1
	}
	if n, ok := labels.(int); ok && n > 0 && t != nil && t.scores > 0 {
		labels = t.scores
	}
	return tupleOf(columns, labels, docs)
}

// against returns the number of texts that the setup says an anchor is compared with, or 0 if it does not.
func (in *interpreter) against() int {
	positives, _ := in.Settings["positives"].(int)
	negatives, _ := in.Settings["negatives"].(int)
	if positives+negatives == 0 {
		return 0
	}
	return max(positives, 1) + negatives
}

// documents returns the number of documents of a query, for a loss over lists.
func (in *interpreter) documents(t *table, given int) int {
	if t != nil && t.docs > 0 {
		return t.docs
	}
	if given == 0 && in.survey != nil {
		return 2
	}
	if given == 0 {
		panic(stopped{&Unsimulated{fmt.Sprintf("%s: this loss scores all documents of a query, and their number depends on the data; give it with --positives and --negatives", in.place())}})
	}
	return given
}

// different implements snug.different(kinds, several): kinds of batches without repetitions, those with the most texts
// first. If each has its own loss, all are kept.
func different(_ *interpreter, a arguments) value {
	in, _ := a.or(0, "kinds", nil).(*list)
	each, _ := a.or(1, "each", false).(bool)
	out := &list{}
	if in == nil {
		return out
	}
	var seen []string
	for _, k := range in.items {
		kind := k.(*list)
		text := fmt.Sprint(kind.items[1:])
		if slices.Contains(seen, text) && !each {
			continue
		}
		seen = append(seen, text)
		out.items = append(out.items, hold(k))
	}
	texts := func(k value) int {
		n, _ := k.(*list).items[1].(int)
		return n
	}
	slices.SortStableFunc(out.items, func(x, y value) int { return texts(y) - texts(x) })
	return out
}

// sentenceModule returns the module that defines a class of sentence-transformers. Each class has a file of the same name,
// but can also be imported from the folder.
func sentenceModule(path string) string {
	before, last, ok := cutLast(path)
	if ok && strings.HasPrefix(path, "sentence_transformers.") && last != "" && last[0] >= 'A' && last[0] <= 'Z' {
		return canonical(before)
	}
	return path
}
