// SPDX-License-Identifier: Apache-2.0

//go:build linux

package run

import (
	"bytes"
	"context"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// The signal that snug ignores while the terminal is lent is not ignored by the next command it starts.
func TestStartDoesNotPassOnWhatIsIgnored(t *testing.T) {
	signal.Ignore(syscall.SIGTTOU)
	var out bytes.Buffer
	s := Session{Args: []string{"grep", "^SigIgn", "/proc/self/status"}, Env: os.Environ(), Stdout: &out, Stderr: &out}
	if _, err := s.Run(context.Background(), folder(t)); err != nil {
		t.Fatal(err)
	}
	mask, err := strconv.ParseUint(strings.TrimSpace(strings.TrimPrefix(out.String(), "SigIgn:")), 16, 64)
	if err != nil || mask&(1<<(syscall.SIGTTOU-1)) != 0 {
		t.Errorf("%q, %v", out.String(), err)
	}
	if !signal.Ignored(syscall.SIGTTOU) {
		t.Error("it is no longer ignored here")
	}
}

func TestWantsTerminal(t *testing.T) {
	in, out := int(syscall.SIGTTIN), int(syscall.SIGTTOU)
	for _, x := range []struct {
		stat
		want bool
	}{
		{stat{state: 'T', group: 5, terminal: 3, foreground: 7, stopped: in}, true},
		{stat{state: 'T', group: 5, terminal: 3, foreground: 7, stopped: out}, true},
		{stat{state: 'T', group: 5, terminal: 3, foreground: 7}, true},                                 // Linux does not report the signal
		{stat{state: 'T', group: 5, terminal: 3, foreground: 7, stopped: int(syscall.SIGSTOP)}, false}, // stopped on purpose
		{stat{state: 'T', group: 5, terminal: 3, foreground: 5, stopped: in}, false},                   // it has the terminal by now
		{stat{state: 'S', group: 5, terminal: 3, foreground: 7}, false},
		{stat{state: 'T', group: 5, foreground: -1, stopped: in}, false},
	} {
		if got := x.wantsTerminal(); got != x.want {
			t.Errorf("%+v: %v", x.stat, got)
		}
	}
	if s, ok := statOf(os.Getpid()); !ok || s.group != syscall.Getpgrp() || s.parent != os.Getppid() || s.state == 0 {
		t.Errorf("%+v, %v", s, ok)
	}
}
