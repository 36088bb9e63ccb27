// SPDX-License-Identifier: Apache-2.0

package script

import "strings"

// textLimits are the numbers of tokens to which models of sentence-transformers truncate texts, from the table of
// pretrained models in its documentation. These models could take longer texts. Models for which the hub's own files say
// something else are left out.
var textLimits = map[string]int{
	"all-mpnet-base-v2": 384, "all-mpnet-base-v1": 512, "all-distilroberta-v1": 512, "all-MiniLM-L6-v2": 256, "all-roberta-large-v1": 256,
	"multi-qa-mpnet-base-dot-v1": 512, "multi-qa-mpnet-base-cos-v1": 512, "multi-qa-distilbert-cos-v1": 512, "multi-qa-distilbert-dot-v1": 512,
	"multi-qa-MiniLM-L6-cos-v1": 512, "multi-qa-MiniLM-L6-dot-v1": 512, "msmarco-distilbert-dot-v5": 512, "msmarco-bert-base-dot-v5": 512,
	"msmarco-distilbert-base-tas-b": 512, "paraphrase-mpnet-base-v2": 512, "paraphrase-MiniLM-L6-v2": 128,
	"paraphrase-multilingual-mpnet-base-v2": 128, "paraphrase-multilingual-MiniLM-L12-v2": 128,
}

// textLimit implements snug.text_limit(name): the number of tokens to which one of sentence-transformers' own models
// truncates texts, or None if it is not known.
func textLimit(_ *interpreter, a arguments) value {
	name, _ := a.or(0, "name", "").(string)
	if n := textLimits[strings.TrimPrefix(name, "sentence-transformers/")]; n > 0 {
		return n
	}
	return nil
}
