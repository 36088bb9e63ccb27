// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// alsoCalled makes a command accept another name for one of its flags: the one that the same thing has with
// another command, or that it had before.
func alsoCalled(cmd *cobra.Command, flag, other string) {
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == other {
			name = flag
		}
		return pflag.NormalizedName(name)
	})
}
