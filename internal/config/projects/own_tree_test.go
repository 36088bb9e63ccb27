// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"errors"
	"os"
	"testing"
)

// TestOwnTree wants nothing of this repository to be taken for a user's run: README's first command shows its
// example there.
func TestOwnTree(t *testing.T) {
	files, ok := os.DirFS("../../..").(Files)
	if !ok {
		t.Fatal("os.DirFS has no ReadFile or ReadDir")
	}
	if found, err := Find(files, "."); !errors.Is(err, ErrNothing) {
		t.Errorf("found %v, %v", found, err)
	}
}
