// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// By default the last value of a repeated flag wins: --gpu A100 --gpu L4 would silently answer for the L4
// alone. Every flag with a single value refuses this.

// refuseTwice makes the flags of a command and its subcommands refuse a second value. List flags
// collect their values and are not affected.
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

// once is the value of a flag that may be set once, or again to the same value.
type once struct {
	pflag.Value
	given bool
	text  string
}

// Set sets the value, or returns an error if it was set to another one.
func (o *once) Set(text string) error {
	if o.given && o.text != text {
		return &twiceError{o.text, text}
	}
	o.given, o.text = true, text
	return o.Value.Set(text)
}

// twiceError is the error for a flag with two values.
type twiceError struct{ first, second string }

func (e *twiceError) Error() string {
	return fmt.Sprintf("given as both %s and %s; remove one", e.first, e.second)
}
