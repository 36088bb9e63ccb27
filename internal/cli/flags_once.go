// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A flag that holds one value and is given another would silently be the last one:
// --gpu A100 --gpu L4 answers for the L4 alone. Every such flag refuses it.

// refuseTwice has the flags of a command and of those under it refuse a second
// value. Lists, which collect theirs, are left alone.
func refuseTwice(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if _, list := f.Value.(pflag.SliceValue); !list {
			f.Value = &once{Value: f.Value}
		}
	})
	for _, c := range cmd.Commands() {
		refuseTwice(c)
	}
}

// once is a flag's value that is set once, or to the same again.
type once struct {
	pflag.Value
	given bool
	text  string
}

// Set sets the value, unless it has another one.
func (o *once) Set(text string) error {
	if o.given && o.text != text {
		return &twiceError{o.text, text}
	}
	o.given, o.text = true, text
	return o.Value.Set(text)
}

// twiceError is that a flag was given two values.
type twiceError struct{ first, second string }

func (e *twiceError) Error() string {
	return fmt.Sprintf("given as both %s and %s; remove one", e.first, e.second)
}
