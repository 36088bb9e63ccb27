// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// alsoCalled makes a command accept another name for one of its flags: the flag's name in another command, or
// its former name.
func alsoCalled(cmd *cobra.Command, flag, other string) {
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == other {
			name = flag
		}
		return pflag.NormalizedName(name)
	})
}
