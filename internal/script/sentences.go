// SPDX-License-Identifier: Apache-2.0

package script

import (
	"fmt"

	"snug/internal/shadow"
)

// Native functions for site-packages/sentence_transformers.py.

func registerSentences() {
	natives["snug.sentences"] = sentences
	natives["snug.text_columns"] = textColumns
	natives["snug.refuse"] = refused
	natives["snug.is_known"] = isKnown
	natives["datasets.Dataset.from_dict"] = tableOf
}

// tableOf implements datasets.Dataset.from_dict.
func tableOf(_ *interpreter, a arguments) value {
	v := a.or(0, "mapping", unknown{})
	if d, ok := v.(*dict); ok {
		d.table = true
	}
	return hold(v)
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

// labelColumns are the names of columns that contain a label instead of a text.
var labelColumns = map[string]bool{"label": true, "labels": true, "score": true, "scores": true}

// textColumns returns the number of texts in a sample: the number of text columns if the script creates the table
// itself, otherwise the number that the loss compares. If the loss accepts any number, it adds a note.
func textColumns(in *interpreter, a arguments) value {
	d, ok := a.or(0, "dataset", nil).(*dict)
	if !ok || !d.table { // a dict that is not a table contains several datasets
		n := a.or(1, "", 2)
		if more, _ := a.or(2, "any", false).(bool); more {
			in.note("the number of texts in a sample is not known here; %v are counted, as for pairs; triplets need half as much memory again", n)
		}
		return n
	}
	n := 0
	for _, k := range d.keys {
		if name, ok := k.(string); ok && !labelColumns[name] {
			n++
		}
	}
	return n
}

// sentences returns a tokenized batch of texts in the given number of columns. The name of each tensor starts
// with its column's name.
func sentences(in *interpreter, a arguments) value {
	columns, _ := a.or(0, "columns", 2).(int)
	out := &dict{record: true, batch: true}
	if labelled, _ := a.or(1, "labelled", false).(bool); labelled {
		out.set("label", &hostTensor{size: []int{in.Batch}, dtype: shadow.Float32})
	}
	for i := range columns {
		column := "sentence_" + string(rune('0'+i%10)) + "_"
		out.set(column+"input_ids", in.field("input_ids", in.Batch))
		if kinds, ok := in.Config["type_vocab_size"].(float64); ok && kinds > 1 {
			out.set(column+"token_type_ids", in.field("input_ids", in.Batch))
		}
		out.set(column+"attention_mask", in.field("attention_mask", in.Batch))
	}
	return out
}
