// SPDX-License-Identifier: Apache-2.0

//go:build unix

package run

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// said is an output that signals when a given text has been written.
type said struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	want string
	came chan struct{}
	once sync.Once
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buf.Write(p)
	if strings.Contains(s.buf.String(), s.want) {
		s.once.Do(func() { close(s.came) })
	}
	return len(p), nil
}

func folder(t *testing.T) *Folder {
	t.Helper()
	f, err := NewFolder(t.TempDir(), Settings{Steps: 3})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A daemon in its own session, and a child that ignores SIGINT and SIGTERM.
const stubborn = `trap '' INT TERM; setsid sleep 600 & sleep 600 & echo ready; while :; do sleep 1; done`

func TestStop(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("no /proc: processes in other sessions are not found here")
	}
	for name, script := range map[string]string{
		"polite":   "setsid sleep 600 & sleep 600 & echo ready; wait",
		"stubborn": stubborn,
		// The command ends at once, but its children do not.
		"faithless": `(trap '' INT TERM; setsid sleep 600 & while :; do sleep 1; done) & echo ready; wait`,
	} {
		t.Run(name, func(t *testing.T) {
			f := folder(t)
			out := &said{want: "ready", came: make(chan struct{})}
			signals := make(chan os.Signal, 2)
			go func() { <-out.came; signals <- os.Interrupt }()
			s := Session{Args: []string{"bash", "-c", script}, Env: os.Environ(), Stdout: out, Stderr: out, Signals: signals, Grace: 200 * time.Millisecond}
			o, err := s.Run(context.Background(), f)
			if err != nil {
				t.Fatal(err)
			}
			if o.Stopped != os.Interrupt || o.Exit.Signal == 0 && o.Exit.Code == 0 {
				t.Errorf("stopped by %v, %v", o.Stopped, o.Exit)
			}
			if left := marked(f.Path); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// Whatever a command does, a user who pressed Ctrl-C waits at most five seconds: for two signals, the remaining
// output, and the system.
func TestStopIsQuick(t *testing.T) {
	if most := 2*hurry + lastWords + lastLook + 100*time.Millisecond; most > 5*time.Second {
		t.Errorf("%v", most)
	}
}

// Other signals end a run as Ctrl-C does; the command leaves no core file.
func TestStopBySignal(t *testing.T) {
	for sig, gets := range map[syscall.Signal]string{syscall.SIGQUIT: "INT", syscall.SIGTERM: "TERM", syscall.SIGHUP: "HUP", syscall.SIGINT: "INT"} {
		t.Run(sig.String(), func(t *testing.T) {
			if signal.Ignored(sig) {
				t.Skip("whoever started this ignores the signal, as nohup does, and no shell can trap it then")
			}
			signals := make(chan os.Signal, 2)
			out := &said{want: "ready", came: make(chan struct{})}
			go func() { <-out.came; signals <- sig }()
			s := Session{
				Args: []string{"sh", "-c", `for s in INT QUIT TERM HUP; do trap "echo got $s; exit 3" $s; done; echo ready; while :; do sleep 0.05; done`},
				Env:  os.Environ(), Stdout: out, Stderr: out, Signals: signals, Grace: time.Minute,
			}
			o, err := s.Run(context.Background(), folder(t))
			if err != nil || o.Stopped != sig || o.Exit.Code != 3 || !strings.Contains(out.buf.String(), "got "+gets+"\n") {
				t.Errorf("%+v, %v, %q", o, err, out.buf.String())
			}
		})
	}
}

// A run does not start if a signal has already arrived.
func TestStopBefore(t *testing.T) {
	signals := make(chan os.Signal, 1)
	signals <- os.Interrupt
	s := Session{Args: []string{"no-such-command"}, Signals: signals}
	if o, err := s.Run(context.Background(), folder(t)); err != nil || o.Stopped != os.Interrupt {
		t.Errorf("%+v, %v", o, err)
	}
}

// A command reads snug's standard input.
func TestInput(t *testing.T) {
	in, err := os.Open("session_test.go")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var got bytes.Buffer
	s := Session{Args: []string{"head", "-n", "1"}, Env: os.Environ(), Stdin: in, Stdout: &got, Stderr: &got}
	if o, err := s.Run(context.Background(), folder(t)); err != nil || o.Exit.Code != 0 || !strings.HasPrefix(got.String(), "// SPDX") {
		t.Errorf("%+v, %v, %q", o, err, got.String())
	}
}

// If the output's reader is gone, the run ends; and the user is told if the command takes long to end.
func TestStopSlowly(t *testing.T) {
	signals, told := make(chan os.Signal, 2), make(chan struct{})
	out := &said{want: "ready", came: make(chan struct{})}
	s := Session{
		Args: []string{"sh", "-c", `trap "sleep 600" TERM; echo ready; while :; do sleep 0.1; done`}, Env: os.Environ(), Stdout: out, Stderr: out,
		Signals: signals, Grace: time.Minute, Slow: func() { close(told) },
	}
	go func() {
		<-out.came
		signals <- syscall.SIGPIPE
		<-told
		signals <- os.Interrupt
		signals <- os.Interrupt
	}()
	o, err := s.Run(context.Background(), folder(t))
	if err != nil || o.Stopped != syscall.SIGPIPE || o.Exit.Signal != syscall.SIGKILL {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestTimeout(t *testing.T) {
	s := Session{Args: []string{"sleep", "600"}, Env: os.Environ(), Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}, Timeout: 100 * time.Millisecond}
	o, err := s.Run(context.Background(), folder(t))
	if err != nil || !o.TimedOut || o.Exit.Signal != syscall.SIGTERM {
		t.Errorf("%+v, %v", o, err)
	}
}

// A command that ignores requests to end is killed as after Ctrl-C, too quickly for a message about the delay.
func TestTimeoutIsQuick(t *testing.T) {
	told := make(chan struct{}, 1)
	s := Session{
		Args: []string{"bash", "-c", stubborn}, Env: os.Environ(), Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{},
		Timeout: 100 * time.Millisecond, Slow: func() { told <- struct{}{} },
	}
	o, err := s.Run(context.Background(), folder(t))
	if err != nil || !o.TimedOut || o.Exit.Signal != syscall.SIGKILL {
		t.Errorf("%+v, %v", o, err)
	}
	if len(told) > 0 {
		t.Error("the command has more time to end than after Ctrl-C")
	}
}

func TestExitAndOutputComeThrough(t *testing.T) {
	var out, errs bytes.Buffer
	s := Session{Args: []string{"sh", "-c", `printf 'a\000\377b'; printf e >&2; exit 42`}, Env: os.Environ(), Stdout: &out, Stderr: &errs}
	o, err := s.Run(context.Background(), folder(t))
	if err != nil || o.Exit.Code != 42 || out.String() != "a\x00\xffb" || errs.String() != "e" {
		t.Errorf("%v %+v %q %q", err, o.Exit, out.String(), errs.String())
	}
}

// TestLeftoversEnd checks that snug ends although a process keeps the pipe open.
func TestLeftoversEnd(t *testing.T) {
	f := folder(t)
	s := Session{Args: []string{"sh", "-c", "sleep 600 & exit 0"}, Env: os.Environ(), Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}
	if _, err := s.Run(context.Background(), f); err != nil {
		t.Fatal(err)
	}
	if left := marked(f.Path); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestCannotStart(t *testing.T) {
	script := t.TempDir() + "/train.py"
	if err := os.WriteFile(script, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"no-such-command", "./no/such/file", script} {
		s := Session{Args: []string{name}, Env: os.Environ(), Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}
		_, err := s.Run(context.Background(), folder(t))
		var start *StartError
		if !errors.As(err, &start) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
