// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"strings"
	"syscall"
	"testing"

	"snug/internal/watch"
	"snug/internal/watch/export"
	"snug/internal/watch/live"
)

// closed is an output that nobody reads anymore.
type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// TestClosedOutput checks that watching stops if nobody reads its output, but not if a command is running.
func TestClosedOutput(t *testing.T) {
	for _, running := range []bool{false, true} {
		var said bytes.Buffer
		s := &watching{env: Env{Stderr: &said, Stdout: closed{}}, o: &watchOptions{json: true}, watcher: watch.New(watch.Options{})}
		if running {
			s.command = &live.Command{}
		}
		s.sinks = []export.Sink{&export.Lines{Out: closed{}, Write: export.JSON}}
		stopped := false
		e := watch.Event{Kind: watch.KindStart}
		_, changed := s.watcher.Add(e)
		s.show(e, changed, func() { stopped = true })
		if stopped == running || (s.failed == nil) != running || (len(s.sinks) == 0) != running {
			t.Errorf("with a command: %v; stopped: %v, failed: %v, %d outputs", running, stopped, s.failed, len(s.sinks))
		}
		if running && !strings.Contains(said.String(), "the command keeps running") {
			t.Errorf("said %q", said.String())
		}
	}
}
