// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"
	"strings"
)

// Setting is one row in the table of settings: everything about one field of a setup. Flags, decoding, checks, the
// planner, the output, snug apply and the docs are derived from the rows. CONTRIBUTING.md describes how to add one.
type Setting struct {
	// Name is the field in a setup, such as "lora.rank" for rank in the object lora.
	Name string
	// Flags are its command-line flags; the first is the usual one.
	Flags []Flag
	// What describes it in help texts. The word in back quotes is the placeholder for the value.
	What string
	// Words are the allowed values, or list elements.
	Words []string
	// Default is the value of a missing field; nil means the zero value.
	Default any
	// Least and Most are the bounds of a number; a value above Most is an error.
	Least, Most float64
	// Required is the error message for a missing field; "" if it may be missing.
	Required string
	// Use says where the setting is used.
	Use Use
	// ShownByProfile reports whether a profile's recordings show the setting; nil means never, so that a setup cannot
	// be checked against the profile.
	ShownByProfile func(Recorded) bool
	// Phrases describes it in the lines above an estimate; empty for the usual value.
	Phrases func(*Setup) []string
	// Row is its row in the table of snug optimize; nil means none.
	Row *Row
	// Evidence returns the groups of measured runs that a setup belongs to because of this setting; nil for sizes,
	// and for settings that do not affect the error of estimates.
	Evidence func(*Setup) []string
	// Lever describes how setting it saves memory; nil if it does not, or if the planner's search varies it.
	Lever *Lever

	at      func(*Setup) any // returns the address of its field
	planned func(*Setup) any // returns its value in a plan, if a script may set it; nil means the field's value
}

// Flag is a command-line flag of a setting.
type Flag struct {
	Name string // without the dashes
	// Means is the value of a flag without an argument: 4 for --load-in-4bit.
	Means any
	// What describes the flag if it differs from the setting.
	What string
}

// Use is a set of places where a setting is used.
type Use uint

// The uses.
const (
	// InFiles means that config files can set it, and snug apply writes it there.
	InFiles Use = 1 << iota
	// Size means that it is a size of the step, which recordings may vary.
	Size
	// Allowed means that a plan changes it only if --allow names it, because it changes what is trained or how
	// precisely.
	Allowed
	// LockedByProfile means that the plan of a recorded run keeps it as recorded.
	LockedByProfile
	// InPlan means that a plan includes its value if it applies to the run.
	InPlan
	// PlanAlways means that a plan always includes its value.
	PlanAlways
)

// Has reports whether a setting has a use.
func (x *Setting) Has(u Use) bool { return x.Use&u != 0 }

// Row is a row in the table that snug optimize prints.
type Row struct {
	Label string              // "" means the setting's name
	Cell  func(*Setup) string // the text for the value
	// Shown reports whether the row is shown; nil means that it is shown if the cells differ.
	Shown func(now, then *Setup) bool
}

// Lever is a change to a run that saves memory.
type Lever struct {
	Change string // a description of the change
	Price  string // the cost besides time
	// Rounds means that the run computes with rounded weights, so that training gives a different result.
	Rounds bool
	Can    func(*Setup) bool // whether the lever applies to a run
	Pull   func(*Setup)      // applies the change to a run
}

// Kind is the type of a setting's values.
type Kind string

// The kinds.
const (
	Whole  Kind = "whole number"
	Number Kind = "number"
	Switch Kind = "true or false"
	Word   Kind = "word"
	Text   Kind = "text"
	Names  Kind = "list of names"
	Bytes  Kind = "size"
)

// Kind returns the type of the setting's values.
func (x *Setting) Kind() Kind {
	switch x.at(blank()).(type) {
	case *int:
		return Whole
	case *float64:
		return Number
	case *bool, **bool:
		return Switch
	case *[]string:
		return Names
	case *uint64:
		return Bytes
	}
	if len(x.Words) > 0 {
		return Word
	}
	return Text
}

// Undecided reports whether leaving the setting out differs from both true and false: a library then decides.
func (x *Setting) Undecided() bool {
	_, is := x.at(blank()).(**bool)
	return is && x.Default == nil
}

// blank returns a setup that has every object, so that each field has an address.
func blank() *Setup {
	return &Setup{LoRA: &LoRA{}, Quantization: &Quantization{}, Dist: &Dist{}, Evaluation: &Evaluation{}}
}

// group returns the object that contains the setting ("" for the setup itself), and its name there.
func (x *Setting) group() (object, key string) {
	object, key, nested := strings.Cut(x.Name, ".")
	if !nested {
		return "", object
	}
	return object, key
}

// Usage returns the help text for one of its flags.
func (x *Setting) Usage(f Flag) string {
	if f.What != "" {
		return f.What
	}
	text := x.What
	switch n := len(x.Words); {
	case n > 8:
		text += ": " + strings.Join(x.Words[:3], ", ") + ", ..."
	case n > 0 && x.Kind() == Names:
		text += ": " + strings.Join(x.Words, ",")
	case n > 0:
		text += ": " + strings.Join(x.Words, ", ")
	}
	if x.Default != nil {
		text += fmt.Sprintf(" (default %v)", x.Default)
	}
	return text
}

// Plain returns What without its back quotes.
func (x *Setting) Plain() string { return strings.ReplaceAll(x.What, "`", "") }
