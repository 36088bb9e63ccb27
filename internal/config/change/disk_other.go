// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package change

import (
	"io/fs"
	"os"
)

const dontWait = 0

func inode(fs.FileInfo) uint64 { return 0 }

// copyAttributes does nothing because files have no Unix owner here.
func copyAttributes(*os.File, *os.File) error { return nil }

func otherNames(fs.FileInfo) int { return 0 }

// unsupportedSync returns true because folders cannot be synced here.
func unsupportedSync(error) bool { return true }
