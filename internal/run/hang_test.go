// SPDX-License-Identifier: Apache-2.0

//go:build unix

package run

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"
)

const (
	starts = `echo '{"event":"start","time":1,"pid":7}' >> $SNUG_RUN/7.jsonl; `
	steps  = `echo '{"event":"step","n":1}' >> $SNUG_RUN/7.jsonl; `
	fails  = `echo '{"event":"oom","asked":5}' >> $SNUG_RUN/7.jsonl; `
)

// A run that hangs is ended, and the report says where it hung. A rank that runs out of memory ends the run for all.
func TestHangs(t *testing.T) {
	for name, x := range map[string]struct {
		script   string
		hung     Hang
		timedOut bool
		lingered bool
	}{
		"before the first step": {starts + "exec sleep 600", BeforeSteps, true, false},
		"between steps":         {starts + steps + "exec sleep 600", BetweenSteps, true, false},
		"ignores SIGTERM":       {starts + steps + "trap '' TERM INT; while :; do sleep 1; done", BetweenSteps, true, false},
		"one rank has no room":  {starts + steps + fails + "exec sleep 600", NotHung, false, true},
		"ends by itself":        {starts + steps + fails + "exit 1", NotHung, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := folder(t)
			s := Session{
				Args: []string{"sh", "-c", x.script}, Env: os.Environ(), Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}, Grace: 100 * time.Millisecond,
				StartTimeout: 600 * time.Millisecond, StepTimeout: 700 * time.Millisecond, OOMTimeout: 300 * time.Millisecond,
			}
			o, err := s.Run(context.Background(), f)
			if err != nil {
				t.Fatal(err)
			}
			if o.Hung != x.hung || o.TimedOut != x.timedOut || o.Lingered != x.lingered {
				t.Errorf("hung %q, timed out %v, lingered %v", o.Hung, o.TimedOut, o.Lingered)
			}
			if left := marked(f.Path); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}
