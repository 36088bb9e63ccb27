// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux && !darwin && !freebsd && !netbsd

package change

import (
	"fmt"
	"os"
)

// copyAttributes gives a new file the owner of the file that it replaces.
func copyAttributes(to, from *os.File) error {
	if err := copyOwner(to, from); err != nil {
		return fmt.Errorf("its owner cannot be kept: %w", plainError(err))
	}
	return nil
}
