// SPDX-License-Identifier: Apache-2.0

package change

import (
	"crypto/rand"
	"os"
	"path/filepath"

	"snug/internal/files"
)

// The key for seals combines a random number in the user's own configuration folder, created with the first
// change, and the machine's identity. The identity alone is not enough: it may be missing, or known to others
// if it came with a system image.

// keyBytes limits how much of the key file is read.
const keyBytes = 256

// keyFile returns the path of the key; "" if the user has no configuration folder.
func keyFile() string {
	folder, err := os.UserConfigDir()
	if err != nil || !filepath.IsAbs(folder) {
		return ""
	}
	return filepath.Join(folder, "snug", "journal.key")
}

// readKey returns the key, or "" if there is none yet.
func readKey() string {
	name := keyFile()
	if name == "" {
		return ""
	}
	data, err := files.Read(name, keyBytes)
	if err != nil {
		return ""
	}
	return string(data)
}

// makeKey creates and returns the key, or returns the key of a process that was faster; "" if it cannot be
// stored. The file gets its name only when it is complete.
func makeKey() string {
	name := keyFile()
	if name == "" || os.MkdirAll(filepath.Dir(name), 0o700) != nil {
		return ""
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".journal-*")
	if err != nil {
		return ""
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(rand.Text())
	if closing := f.Close(); err != nil || closing != nil {
		return ""
	}
	_ = os.Link(f.Name(), name) // fails if it exists by now
	return readKey()
}
