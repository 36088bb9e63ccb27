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
		name   string
		states []string
		want   string
	}{
		{"nothing for what is quick", nil, ""},
		{"a line that is written over, and erased", []string{"simulating", "simulating"}, "\rsimulating: 1 s\rsimulating: 2 s\r               \r"},
		{"nothing is left of a longer line", []string{"11 runs", "2 runs"}, "\r11 runs: 1 s\r2 runs: 2 s \r           \r"},
	} {
		var out strings.Builder
		ticks, stop, done := make(chan time.Time), make(chan struct{}), make(chan struct{})
		next := 0
		status := func() string { next++; return c.states[next-1] }
		go func() {
			Screen{Width: 80}.Progress(&out, status, ticks, stop)
			close(done)
		}()
		for i := range c.states {
			ticks <- began.Add(time.Duration(i) * time.Second)
		}
		close(stop)
		<-done
		if got := out.String(); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
