// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package change

import (
	"io/fs"
	"os"
)

// Own does nothing where files have no owner in this sense.
func (Disk) Own(string, fs.FileInfo) error { return nil }

func otherNames(fs.FileInfo) int { return 0 }

// unsupportedSync is true: a folder cannot be synced here.
func unsupportedSync(error) bool { return true }

// processAlive says whether a process is there.
func processAlive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	_ = p.Release()
	return true
}
