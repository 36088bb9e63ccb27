// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package live

import "os"

// alive checks for the process by opening a handle to it.
func alive(pid int) Alive {
	p, err := os.FindProcess(pid)
	if err != nil {
		return Gone
	}
	_ = p.Release()
	return Ours
}
