// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The table is read by its lines: it has to say what it says as JSON.
func TestResidualsAreJSON(t *testing.T) {
	var want Residuals
	if err := json.Unmarshal([]byte(residualsJSON), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, residuals()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(want.Groups) == 0 {
		t.Error("the table is empty")
	}
}
