// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/systems"
	"snug/internal/config/tree"
	"snug/internal/pattern"
)

// isIdle reports whether a value in a Python program has no effect: a name in a model card, or an unused
// variable.
func isIdle(t tree.Tree, v tree.Value, k *systems.Key) bool {
	d := t.Layers[0].Doc
	if d.Format() != doc.Python {
		return false
	}
	if len(v.Path) > 1 {
		return k.Setting == "model" && inCard(t, v.Path)
	}
	return k.Setting == "seq" && isWordByte(v.Path[0][0]) && trainsItself.In(d.Text()) && occursOnce(d.Text(), v.Path[0])
}

// trainsItself matches a program that creates its model. A file that contains only variables is read by another
// program.
var trainsItself = pattern.New(`(?m)^[^#\n]*\b(?:SentenceTransformer|from_pretrained)\(`, "SentenceTransformer(", "from_pretrained(")

// inCard reports whether a value is an argument of a call that creates a model card.
func inCard(t tree.Tree, p doc.Path) bool {
	around, err := t.Find(p[:len(p)-1])
	if err != nil {
		return false
	}
	call, _, is := strings.Cut(around.Value.Text, "(")
	return is && strings.HasSuffix(call, "CardData")
}

// occursOnce reports whether a name occurs in a text only once, as a separate word.
func occursOnce(text, name string) bool {
	n := 0
	for from := 0; n < 2; {
		at := strings.Index(text[from:], name)
		if at < 0 {
			break
		}
		at += from
		from = at + len(name)
		if (at == 0 || !isWordByte(text[at-1])) && (from == len(text) || !isWordByte(text[from])) {
			n++
		}
	}
	return n == 1
}
