// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"testing"
	"testing/fstest"

	"snug/internal/config/projects"
)

// opened returns the run that some files describe.
func opened(t *testing.T, files fstest.MapFS) *Run {
	t.Helper()
	found, err := projects.Find(files, ".")
	if err != nil {
		t.Fatal(err)
	}
	return New(found)
}
