// SPDX-License-Identifier: Apache-2.0

package change

import (
	"crypto/rand"
	"os"
	"path/filepath"

	"snug/internal/files"
)

// The key of the seals is a random number in the user's own configuration folder, made with the first
// change, together with the machine's identity. The identity alone may be missing, or known to others if
// an image was installed with it.

// keyBytes is the most that is read of the key's file.
const keyBytes = 256

// keyFile returns the path of the key; "" if the user has no configuration folder.
func keyFile() string {
	folder, err := os.UserConfigDir()
	if err != nil || !filepath.IsAbs(folder) {
		return ""
	}
	return filepath.Join(folder, "snug", "journal.key")
}

// readKey returns the key, "" if there is none yet.
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

// makeKey makes and returns the key, or returns that of a process that was faster; "" if it cannot be
// stored. The file appears under its name only when complete.
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
