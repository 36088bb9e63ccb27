// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestBrief(t *testing.T) {
	short := strings.Repeat("a", maxMessage)
	if got := brief(short); got != short {
		t.Errorf("%d bytes are left of %d", len(got), len(short))
	}
	for _, long := range []string{strings.Repeat("x+", 1<<19), strings.Repeat("€", 1<<18), strings.Repeat("\x80", 1<<18)} {
		got := brief("train.py:2: batch is " + long + "; write a number")
		if len(got) > maxMessage {
			t.Errorf("%d bytes are left", len(got))
		}
		if !strings.HasPrefix(got, "train.py:2: batch is ") || !strings.HasSuffix(got, "; write a number") || !strings.Contains(got, " bytes omitted ...] ") {
			t.Errorf("got %.60s ... %s", got, got[len(got)-60:])
		}
		if utf8.ValidString(long) && !utf8.ValidString(got) {
			t.Error("a letter is cut in two")
		}
		if brief(got) != got {
			t.Error("a second time cuts more")
		}
	}
}
