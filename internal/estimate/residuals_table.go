// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

//go:embed residuals.json
var residualsJSON string

// residuals returns the table, which `make accuracy` writes. It is read on first use.
var residuals = sync.OnceValue(func() Residuals { return readResiduals(residualsJSON) })

// readResiduals reads the table in the format in which it is written: one group after another, one number per line.
// Every estimate waits for the table, and a general JSON decoder takes five times as long.
func readResiduals(text string) (t Residuals) {
	name, r := "", Range{}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.Trim(line, " ,\n"), ": ")
		switch key = strings.Trim(key, `"`); {
		case key == "several":
			t.Several = map[string]Range{}
		case value == "{":
			name, r = key, Range{}
		case key == "card":
			t.Measured = append(t.Measured, Measured{Card: strings.Trim(value, `"`), Groups: map[string]Range{}})
		case key == "torch":
			t.Measured[len(t.Measured)-1].Torch = strings.Trim(value, `"`)
		case key == "cases":
			r.Cases, _ = strconv.Atoi(value)
		case key == "low":
			r.Low, _ = strconv.ParseFloat(value, 64)
		case key == "high":
			r.High, _ = strconv.ParseFloat(value, 64)
			t.put(name, r)
		}
	}
	return t
}

// put stores a range in the table: in the groups of the current card and version, or in the parts of the table
// after the groups.
func (t *Residuals) put(name string, r Range) {
	switch {
	case t.Several != nil: // Several is the last part of the table
		t.Several[name] = r
	case name == "added":
		t.Added = r
	default:
		t.Measured[len(t.Measured)-1].Groups[name] = r
	}
}
