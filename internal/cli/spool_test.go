// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// A spool returns the same bytes the second time, no matter how many were read the first time, and ends with
// the same error.
func TestSpool(t *testing.T) {
	text := strings.Repeat("0123456789", 100)
	for _, first := range []int64{0, 1, 500, 1000, 2000} {
		s := &spool{in: iotest.HalfReader(io.MultiReader(strings.NewReader(text), iotest.ErrReader(io.ErrUnexpectedEOF)))}
		_, _ = io.CopyN(io.Discard, s, first)
		s.again()
		got, err := io.ReadAll(s)
		if string(got) != text || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("after %d bytes: %d, %v", first, len(got), err)
		}
		if len(s.kept) > 0 {
			t.Errorf("%d parts are still kept", len(s.kept))
		}
	}
}

func TestSpoolHasAnEnd(t *testing.T) {
	s := &spool{in: strings.NewReader(strings.Repeat("x", maxSpooled+1))}
	if _, err := io.Copy(io.Discard, s); !errors.Is(err, errSpooled) {
		t.Errorf("got %v", err)
	}
}
