// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"strings"

	"snug/internal/config/doc"
	"snug/internal/pattern"
)

// quotient matches an integer division of two names whose result is assigned or passed: = a.batch // b.steps,
// (int(batch / steps). In samples // batch // steps the batch is not the dividend.
var quotient = pattern.New(`(?m)^[^#\n]*?[=(,:\[][ \t]*(?:[A-Za-z_]\w*\.)*([A-Za-z_]\w*)[ \t]*//?[ \t]*((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)`, "/")

// DividedBy returns the name that a Python program divides its batch by, as in batch_size // accumulation, or
// "" if there is none. A quotient that is not rounded is a rate, not a size.
func (b Bound) DividedBy() string {
	if b.Setting != "batch" || b.Source.System.For != nil {
		return ""
	}
	name := strings.ReplaceAll(strings.TrimLeft(b.Path[len(b.Path)-1], "-"), "-", "_")
	for _, l := range b.Source.Tree.Layers {
		if l.File != b.File || l.Doc.Format() != doc.Python {
			continue
		}
		for _, m := range quotient.Regexp().FindAllStringSubmatch(l.Doc.Text(), maxQuotients) {
			if m[1] == name && (strings.Contains(m[0], "//") || strings.Contains(m[0], "int(")) {
				return m[2]
			}
		}
	}
	return ""
}

// maxQuotients is more than any training program has.
const maxQuotients = 500

// Call returns the name, without its module, of the function that a value in a Python file is an argument of:
// Trainer for pl.Trainer(precision="32"). It returns "" for any other value.
func (b Bound) Call() string {
	if len(b.Place.At) < 2 {
		return ""
	}
	around, err := b.Source.Tree.Find(b.Place.At[:len(b.Place.At)-1])
	if err != nil || around.Value.Kind != doc.Map || !isCall(around.Value.Text) {
		return ""
	}
	name, _, _ := strings.Cut(around.Value.Text, "(")
	return name[strings.LastIndexByte(name, '.')+1:]
}
