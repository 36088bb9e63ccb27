// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"strings"
	"testing"
)

// The line of a long search is replaced each time, and nothing of it is left; where there is no terminal, there is
// none.
func TestWaiting(t *testing.T) {
	var out bytes.Buffer
	w := &waiting{to: &out}
	w.done.Add(7)
	w.show()
	w.show()
	w.erase()
	if got := out.String(); strings.Count(got, "\r\x1b[Ksnug: 7 runs simulated") != 2 || !strings.HasSuffix(got, "\r\x1b[K") || strings.Contains(got, "\n") {
		t.Errorf("%q", got)
	}
	var err bytes.Buffer
	_, end := Env{Stderr: &err}.wait()
	end()
	if err.Len() > 0 {
		t.Errorf("%q", err.String())
	}
}
