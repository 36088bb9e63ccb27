// SPDX-License-Identifier: Apache-2.0

package term

import (
	"strings"
	"testing"
	"time"
)

func TestProgress(t *testing.T) {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name  string
		ticks int
		want  string
	}{
		{"nothing for what is quick", 0, ""},
		{"a line that is written over, and erased", 2, "\rsimulating: 1 s\rsimulating: 2 s\r               \r"},
	} {
		var out strings.Builder
		ticks, stop, done := make(chan time.Time), make(chan struct{}), make(chan struct{})
		go func() {
			Screen{Width: 80}.Progress(&out, "simulating", ticks, stop)
			close(done)
		}()
		for i := range c.ticks {
			ticks <- began.Add(time.Duration(i) * time.Second)
		}
		close(stop)
		<-done
		if got := out.String(); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
