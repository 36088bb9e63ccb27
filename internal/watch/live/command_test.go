// SPDX-License-Identifier: Apache-2.0

//go:build unix

package live

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"snug/internal/run"
	"snug/internal/watch"
)

// reporter is a command that reports steps and a failure, and ends at once.
type reporter struct {
	t     *testing.T
	steps int
}

func (r reporter) Start(_ context.Context, c run.Command) (run.Process, error) {
	home := ""
	for _, v := range c.Env {
		if path, ok := strings.CutPrefix(v, "PYTHONPATH="); ok {
			home, _, _ = strings.Cut(path, string(os.PathListSeparator))
		}
	}
	socket, err := net.Dial("unixgram", filepath.Join(home, "watch.sock"))
	if err != nil {
		return nil, err
	}
	for n := range r.steps {
		if _, err := fmt.Fprintf(socket, `{"kind":"step","pid":7,"step":%d,"allocated":5}`, n+1); err != nil {
			r.t.Error(err)
		}
	}
	_, err = io.WriteString(socket, `{"kind":"oom","pid":7}`)
	return r, err
}

func (r reporter) Wait() run.Exit     { return run.Exit{Code: 1} }
func (r reporter) Signal(s os.Signal) {}
func (r reporter) End(s os.Signal)    {}
func (r reporter) Sweep(bool)         {}

// TestLastReports checks that nothing is lost of what a command reports before it ends, even if snug is slow.
func TestLastReports(t *testing.T) {
	for range 20 {
		c := &Command{Args: []string{"train"}, Runner: reporter{t, 40}, Stdout: io.Discard, Stderr: io.Discard, TempDir: t.TempDir()}
		last := map[watch.Kind]int{}
		err := Run(context.Background(), Config{Interval: time.Hour, Command: c}, func(e watch.Event) {
			last[e.Kind]++
			time.Sleep(100 * time.Microsecond)
		})
		if err != nil || last[watch.KindStep] != 40 || last[watch.KindOOM] != 1 {
			t.Fatalf("%v, %v", err, last)
		}
	}
}
