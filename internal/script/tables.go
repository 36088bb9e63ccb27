// SPDX-License-Identifier: Apache-2.0

package script

import (
	"slices"
	"strings"

	"snug/internal/pysrc"
)

// The columns of datasets. Their contents are never read, but the number of texts in a sample is needed: it is known
// for tables that the script makes itself, for some datasets of the hub, and for what is made from them.

// table is what is known about a dataset.
type table struct {
	texts  []string // names of the columns with texts
	scores int      // numbers in the label of a sample; 0 if there is no label, or its size is not known
	docs   int      // documents of a sample, if the second column is a list of them
}

func registerTables() {
	natives["datasets.Dataset.from_dict"] = tableOf
	natives["datasets.load_dataset"] = loadDataset
	natives["datasets.concatenate_datasets"] = firstOf
	natives["datasets.DatasetDict"] = func(_ *interpreter, a arguments) value { return hold(a.or(0, "", unknown{})) }
	natives["snug.table"] = newTable
	natives["snug.is_table"] = func(in *interpreter, a arguments) value {
		d, ok := a.or(0, "", nil).(*dict)
		return ok && d.table
	}
	natives["snug.examples"] = examples
}

// labelColumns are the names of columns that contain a label instead of a text.
var labelColumns = map[string]bool{"label": true, "labels": true, "score": true, "scores": true}

// tableOf implements datasets.Dataset.from_dict.
func tableOf(_ *interpreter, a arguments) value {
	v := a.or(0, "mapping", unknown{})
	if d, ok := v.(*dict); ok {
		d.table = true
	}
	return hold(v)
}

// newTable implements snug.table(texts, scores, docs).
func newTable(_ *interpreter, a arguments) value {
	n, ok := a.or(0, "texts", 2).(int)
	if !ok {
		return unknown{}
	}
	t := &table{texts: make([]string, n)}
	t.scores, _ = a.or(1, "scores", 0).(int)
	t.docs, _ = a.or(2, "docs", 0).(int)
	return unknown{table: t}
}

// hubTables are the columns of datasets that sentence-transformers publishes, as their dataset cards describe them. A
// key is the name, and the subset after a space.
var hubTables = map[string][]string{
	"all-nli pair": {"anchor", "positive"}, "all-nli pair-class": {"premise", "hypothesis", "label"},
	"all-nli pair-score": {"sentence1", "sentence2", "score"}, "all-nli triplet": {"anchor", "positive", "negative"},
	"stsb": {"sentence1", "sentence2", "score"}, "gooaq": {"question", "answer"}, "natural-questions": {"query", "answer"},
	"quora-duplicates pair": {"anchor", "positive"}, "quora-duplicates pair-class": {"sentence1", "sentence2", "label"},
	"quora-duplicates triplet":   {"anchor", "positive", "negative"},
	"wikipedia-sections triplet": {"anchor", "positive", "negative"},
	"sentence-compression":       {"text", "simplified"},
	"simple-wiki":                {"text", "simplified"},
	"altlex":                     {"text", "simplified"},
	"coco-captions":              {"caption1", "caption2"},
	"flickr30k-captions":         {"caption1", "caption2"},
	"hotpotqa triplet":           {"anchor", "positive", "negative"},
	"wikipedia-en-sentences":     {"sentence"},
	"msmarco triplets":           {"query_id", "positive_id", "negative_id"}, "msmarco bert-ensemble-margin-mse": {"query_id", "positive_id", "negative_id", "score"},
	"msmarco bert-ensemble-mse":                {"query_id", "passage_id", "score"},
	"yahoo-answers title-question-answer-pair": {"title", "answer"},
	"yahoo-answers title-answer-pair":          {"title", "answer"}, "yahoo-answers question-answer-pair": {"question", "answer"},
	"stackexchange-duplicates title-title-pair": {"title1", "title2"}, "stackexchange-duplicates body-body-pair": {"body1", "body2"},
	"stackexchange-duplicates post-post-pair": {"post1", "post2"},
}

// loadDataset implements datasets.load_dataset.
func loadDataset(_ *interpreter, a arguments) value {
	path, _ := a.or(0, "path", "").(string)
	subset, _ := a.or(1, "name", "").(string)
	name, ours := strings.CutPrefix(path, "sentence-transformers/")
	columns := hubTables[strings.TrimSpace(name+" "+subset)]
	if !ours || columns == nil {
		return unknown{}
	}
	return unknown{table: tableWith(columns)}
}

// tableWith returns the table with these columns.
func tableWith(columns []string) *table {
	t := &table{}
	for _, c := range columns {
		if labelColumns[c] {
			t.scores = 1
			continue
		}
		t.texts = append(t.texts, c)
	}
	return t
}

// firstOf implements datasets.concatenate_datasets, whose parts have the same columns.
func firstOf(_ *interpreter, a arguments) value {
	if l, ok := a.or(0, "dsets", nil).(*list); ok && len(l.items) > 0 {
		return hold(l.items[0])
	}
	return unknown{}
}

// sameColumns lists the methods of a dataset whose result has the same columns, and methods that return several such
// datasets.
var sameColumns = map[string]bool{
	"select": true, "shuffle": true, "train_test_split": true, "filter": true, "take": true, "skip": true, "shard": true, "sort": true, "flatten_indices": true,
}

// attribute returns an attribute of an unknown value: of a dataset, its methods keep what is known about its columns.
func (u unknown) attribute(name string) value {
	switch {
	case u.table == nil || u.method != "":
		return unknown{}
	case name == "column_names":
		return unknown{}
	}
	return unknown{table: u.table, method: name}
}

// call calls an unknown value.
func (u unknown) call(in *interpreter, a arguments) value {
	switch {
	case u.table == nil || u.method == "":
		in.noteTensors("this call", a)
		return unknown{}
	case sameColumns[u.method]:
		return unknown{table: u.table}
	}
	changed := *u.table
	names := stringsIn(a.or(0, "column_names", nil))
	switch u.method {
	case "select_columns":
		changed.texts = slices.DeleteFunc(slices.Clone(names), func(c string) bool { return labelColumns[c] })
	case "remove_columns":
		changed.texts = slices.DeleteFunc(slices.Clone(changed.texts), func(c string) bool { return slices.Contains(names, c) })
	case "rename_column":
	case "map":
		return u.table.mapped(in, a)
	default: // others may add columns
		return unknown{}
	}
	return unknown{table: &changed}
}

// mapped implements dataset.map(function, remove_columns=…): the function's results are further columns.
func (t *table) mapped(in *interpreter, a arguments) value {
	made, ok := in.tried(a.or(0, "function", nil), arguments{pos: []value{unknown{}}}).(*dict)
	if !ok || made.open {
		return unknown{}
	}
	columns := stringsIn(&list{items: made.keys})
	removed := a.or(-1, "remove_columns", nil)
	for _, c := range t.columns() {
		_, all := removed.(unknown) // dataset.column_names
		if !all && !slices.Contains(stringsIn(removed), c) && !slices.Contains(columns, c) {
			columns = append(columns, c)
		}
	}
	drop(made)
	return unknown{table: tableWith(columns)}
}

// columns returns the names of all columns.
func (t *table) columns() []string {
	if t.scores == 0 {
		return t.texts
	}
	return append(slices.Clone(t.texts), "label")
}

// at returns an item of an unknown value: a dataset's parts, such as dataset["train"], have its columns.
func (u unknown) at(key value) value {
	if name, ok := key.(string); ok && u.table != nil && u.method == "" && !slices.Contains(u.table.texts, name) && !labelColumns[name] {
		return u
	}
	return unknown{}
}

// stringsIn returns the strings of a list, or a single one.
func stringsIn(v value) (out []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case *list:
		for _, x := range v.items {
			if s, ok := x.(string); ok {
				out = append(out, s)
			}
		}
	}
	return out
}

// tableIn returns what is known about the columns of a dataset, or nil.
func (in *interpreter) tableIn(v value) *table {
	switch d := v.(type) {
	case unknown:
		return d.table
	case *dict:
		if !d.table { // a dict that is not a table contains several datasets
			return nil
		}
		t := tableWith(stringsIn(&list{items: d.keys}))
		t.scores = 0
		for i, k := range d.keys {
			name, _ := k.(string)
			switch rows, ok := d.vals[i].(*list); {
			case !ok || len(rows.items) == 0:
			case labelColumns[name]:
				t.scores = max(widthOf(rows.items[0]), 1)
			case i == 1:
				t.docs = widthOf(rows.items[0])
			}
		}
		return t
	}
	return nil
}

// widthOf returns the number of items of a sample that is a list, otherwise 0.
func widthOf(sample value) int {
	if l, ok := sample.(*list); ok {
		return len(l.items)
	}
	return 0
}

// examples implements snug.examples(dataset): the columns of a dataset of InputExamples. A loop over data that is not read
// makes them, so the columns come from the calls in the script: the number of texts is known if all calls agree.
func examples(in *interpreter, a arguments) value {
	v := a.or(0, "dataset", unknown{})
	if u, ok := v.(unknown); ok && u.table != nil {
		return v
	}
	t := in.listedExamples(v)
	if t == nil {
		t = exampleTable(in.File.Body)
	}
	if t == nil {
		return unknown{}
	}
	return unknown{table: t}
}

// listedExamples returns the columns of a list of InputExamples, or nil if it is not one.
func (in *interpreter) listedExamples(v value) *table {
	l, ok := v.(*list)
	if !ok || len(l.items) == 0 {
		return nil
	}
	first, ok := l.items[0].(*instance)
	if !ok {
		return nil
	}
	texts, _ := first.attrs.get("texts")
	n := widthOf(texts)
	if n == 0 {
		return nil
	}
	t := &table{texts: make([]string, n), scores: 1}
	if label, _ := first.attrs.get("label"); label == 0 {
		t.scores = 0
	}
	return t
}

// exampleTable returns the columns of the InputExamples that a script makes, or nil if they are not known.
func exampleTable(body []pysrc.Stmt) *table {
	n, labels := 0, 0
	var block func([]pysrc.Stmt)
	var expr func(pysrc.Expr)
	expr = func(e pysrc.Expr) {
		if e == nil {
			return
		}
		if c, ok := e.(*pysrc.Call); ok && isCallOf(c, "InputExample") {
			texts, labeled := exampleTexts(c)
			if n == 0 {
				n = texts
			}
			if texts != n {
				n = -1
			}
			if labeled {
				labels = 1
			}
		}
		pysrc.ExprParts(e, expr)
	}
	block = func(ss []pysrc.Stmt) {
		for _, s := range ss {
			pysrc.Parts(s, expr, block)
		}
	}
	block(body)
	if n < 1 {
		return nil
	}
	return &table{texts: make([]string, n), scores: labels}
}

// isCallOf reports whether a function of this name is called, by itself or as an attribute.
func isCallOf(c *pysrc.Call, name string) bool {
	switch f := c.Func.(type) {
	case *pysrc.Name:
		return f.ID == name
	case *pysrc.Attribute:
		return f.Name == name
	}
	return false
}

// exampleTexts returns the number of texts of InputExample(…), -1 if it is not known, and whether it has a label.
func exampleTexts(c *pysrc.Call) (n int, labeled bool) {
	n = -1
	for i, a := range c.Args {
		if l, ok := a.Value.(*pysrc.List); ok && (a.Name == "texts" || a.Name == "" && i == 1) {
			n = len(l.Elts)
		}
		labeled = labeled || a.Name == "label"
	}
	return n, labeled
}
