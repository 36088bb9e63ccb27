// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package files

import "os"

// open opens a file.
func open(name string) (*os.File, error) { return os.Open(name) }
