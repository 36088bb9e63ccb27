// SPDX-License-Identifier: Apache-2.0

//go:build unix

package files

import (
	"os"
	"syscall"
)

// open opens a file without waiting for anybody: a FIFO without a writer would
// hold whoever opens it otherwise. A terminal does not become that of the process.
func open(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
}
