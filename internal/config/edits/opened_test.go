// SPDX-License-Identifier: Apache-2.0

package edits

import (
	"testing"
	"testing/fstest"

	"snug/internal/config/meaning"
	"snug/internal/config/projects"
)

// opened returns the run that some files describe.
func opened(t *testing.T, files fstest.MapFS) *meaning.Run {
	t.Helper()
	found, err := projects.Find(files, ".")
	if err != nil {
		t.Fatal(err)
	}
	return meaning.New(found)
}
