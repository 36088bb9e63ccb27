// SPDX-License-Identifier: Apache-2.0

//go:build unix

package live

import (
	"errors"
	"syscall"
)

// alive checks for the process by sending signal 0.
func alive(pid int) Alive {
	switch err := syscall.Kill(pid, 0); {
	case err == nil:
		return Ours
	case errors.Is(err, syscall.EPERM):
		return Foreign
	}
	return Gone
}
