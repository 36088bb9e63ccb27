// SPDX-License-Identifier: Apache-2.0

//go:build unix

package live

import (
	"errors"
	"syscall"
)

// alive asks the system with a signal that does nothing.
func alive(pid int) Alive {
	switch err := syscall.Kill(pid, 0); {
	case err == nil:
		return Ours
	case errors.Is(err, syscall.EPERM):
		return Foreign
	}
	return Gone
}
