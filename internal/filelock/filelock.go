// SPDX-License-Identifier: Apache-2.0

// Package filelock locks files against other processes. The operating system releases a lock when its process ends,
// however it ends, so no lock outlives its process.
package filelock

import (
	"errors"
	"os"
)

// ErrHeld means that another process holds the lock.
var ErrHeld = errors.New("another process holds it")

// ErrUnsupported means that the file system does not support locks, as on some network mounts.
var ErrUnsupported = errors.New("this file system does not support locks")

// Try takes the lock on an open file, or fails at once with ErrHeld or ErrUnsupported. Closing the file releases the
// lock.
func Try(f *os.File) error { return try(f) }
