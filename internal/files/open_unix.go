// SPDX-License-Identifier: Apache-2.0

//go:build unix

package files

import (
	"os"
	"syscall"
)

// open opens a file without blocking, even a FIFO without a writer. A terminal does not become the process's
// controlling terminal.
func open(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
}
