// SPDX-License-Identifier: Apache-2.0

package script

import "snug/internal/shadow"

// Natives for site-packages/sentence_transformers.py.

func registerSentences() {
	natives["snug.sentences"] = sentences
	natives["snug.text_columns"] = textColumns
	natives["datasets.Dataset.from_dict"] = func(_ *interpreter, a arguments) value { return hold(a.or(0, "mapping", unknown{})) }
}

// labelColumns are the names of columns that hold a label instead of a text.
var labelColumns = map[string]bool{"label": true, "labels": true, "score": true, "scores": true}

// textColumns returns how many texts a sample has: the number of text columns if the script makes the table itself,
// otherwise as many as the loss compares.
func textColumns(_ *interpreter, a arguments) value {
	d, ok := a.or(0, "dataset", nil).(*dict)
	if !ok {
		return a.or(1, "", 2)
	}
	n := 0
	for _, k := range d.keys {
		if name, ok := k.(string); ok && !labelColumns[name] {
			n++
		}
	}
	return n
}

// sentences returns a tokenized batch of texts in the given number of columns. The name of each tensor begins with
// that of its column.
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
