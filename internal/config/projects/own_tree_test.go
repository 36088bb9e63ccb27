// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"errors"
	"os"
	"testing"
)

// TestOwnTree checks that no file in this repository is taken for a user's run, because the first command in
// README.md must show the built-in example when it is run there.
func TestOwnTree(t *testing.T) {
	files, ok := os.DirFS("../../..").(Files)
	if !ok {
		t.Fatal("os.DirFS has no ReadFile or ReadDir")
	}
	if found, err := Find(files, "."); !errors.Is(err, ErrNothing) {
		t.Errorf("found %v, %v", found, err)
	}
}
