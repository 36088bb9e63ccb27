// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"strings"

	"snug/internal/config/doc"
	"snug/internal/pattern"
)

// quotient matches a whole-number quotient of two names that is given a name or passed on: = a.batch // b.steps,
// (int(batch / steps). In samples // batch // steps the batch is not the dividend.
var quotient = pattern.New(`(?m)^[^#\n]*?[=(,:\[][ \t]*(?:[A-Za-z_]\w*\.)*([A-Za-z_]\w*)[ \t]*//?[ \t]*((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)`, "/")

// DividedBy returns the name by which a Python program divides its batch, as in batch_size // accumulation; ""
// if it does not. A quotient that stays a fraction is a rate, not a size.
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

// maxQuotients is more than a program of one run has.
const maxQuotients = 500

// Call returns the name of the function that a value of a Python file is an argument of, without its module:
// Trainer for pl.Trainer(precision="32"). It is "" for any other value.
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
