// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// console is an interactive shell at a terminal.
type console struct {
	t      *testing.T
	master *os.File
	mu     sync.Mutex
	shown  bytes.Buffer
	seen   int // length of the output that was waited for
}

// newConsole starts an interactive shell in which snug is this program and train.sh is the script.
func newConsole(t *testing.T, script string) *console {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo-terminals here: ", err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Skip("no pseudo-terminals here: ", err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo-terminals here: ", err)
	}
	defer slave.Close()
	dir := t.TempDir()
	program, err := os.Executable()
	if err == nil {
		err = os.Symlink(program, filepath.Join(dir, "snug"))
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "train.sh"), []byte(script), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	shell := exec.Command("sh", "-i")
	shell.Dir, shell.Stdin, shell.Stdout, shell.Stderr = dir, slave, slave, slave
	shell.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "TMPDIR="+dir, "HOME="+dir, "SNUG_STORE="+dir+"/measured.db", "PS1=$ ", "ENV=", "GOCOVERDIR="+dir)
	shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	c := &console{t: t, master: master}
	go c.read()
	t.Cleanup(func() {
		_ = syscall.Kill(-shell.Process.Pid, syscall.SIGKILL)
		_ = shell.Wait()
		_ = master.Close()
		if left, _ := filepath.Glob(filepath.Join(dir, "snug-profile-*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	c.sees("$ ")
	return c
}

func (c *console) read() {
	buf := make([]byte, 4096)
	for {
		n, err := c.master.Read(buf)
		c.mu.Lock()
		c.shown.Write(buf[:n])
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// types presses keys.
func (c *console) types(keys string) {
	c.t.Helper()
	if _, err := c.master.WriteString(keys); err != nil {
		c.t.Fatal(err)
	}
}

// sees waits for a text after everything seen so far.
func (c *console) sees(text string) {
	c.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		c.mu.Lock()
		i := strings.Index(c.shown.String()[c.seen:], text)
		if i >= 0 {
			c.seen += i + len(text)
		}
		c.mu.Unlock()
		if i >= 0 {
			return
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t.Fatalf("%q did not appear; the output is:\n%s", text, c.shown.String())
}

// runs types a command line. The terminal echoes the line, so the line contains e_nd instead of end to
// distinguish it from the output.
func (c *console) runs(line string) { c.types(strings.ReplaceAll(line, "e_nd", "e''nd") + "\n") }

// Keys.
const (
	ctrlC         = "\x03"
	ctrlZ         = "\x1a"
	ctrlBackslash = "\x1c"
)

// A command that reads from the terminal is given the terminal, and the shell gets it back afterwards.
func TestTerminalIsLent(t *testing.T) {
	for name, x := range map[string]struct{ command, script string }{
		"input":           {"sh train.sh", "echo ask; read x; echo got-$x; exit 7"},
		"terminal":        {"sh train.sh", "echo ask; read x </dev/tty; echo got-$x; exit 7"},
		"setting":         {"sh train.sh", "stty -echo </dev/tty; echo ask; read x; stty echo </dev/tty; echo got-$x; exit 7"},
		"launcher":        {"timeout 60 sh train.sh", "echo ask; read x; echo got-$x; exit 7"},
		"launcher within": {"sh train.sh", `timeout 60 sh -c 'echo ask; read x; echo got-$x; exit 7'`},
	} {
		t.Run(name, func(t *testing.T) {
			needTimeout(t, x.command+x.script)
			c := newConsole(t, x.script)
			c.runs("snug profile -- " + x.command + "; echo e_nd $?")
			c.sees("ask")
			c.types("hello\n")
			c.sees("got-hello")
			c.sees("end 7")
			c.runs("read y; echo e_nd $y")
			c.types("mine\n")
			c.sees("end mine")
		})
	}
}

func needTimeout(t *testing.T, script string) {
	t.Helper()
	if _, err := exec.LookPath("timeout"); err != nil && strings.Contains(script, "timeout") {
		t.Skip("the timeout command is not installed")
	}
}

// Ctrl-C and Ctrl-\ end the run, whether or not the command has the terminal and however it handles the
// signals. The terminal's settings are restored.
func TestTerminalKeysEnd(t *testing.T) {
	const (
		ask   = "stty -echo </dev/tty; "
		deaf  = `trap "" INT TERM QUIT; `
		loops = "echo ready; while :; do sleep 0.1; done"
	)
	for name, script := range map[string]string{
		"plain":          loops,
		"deaf":           deaf + loops,
		"lent":           ask + loops,
		"lent, deaf":     deaf + ask + loops,
		"lent, its end":  `trap "exit 0" INT QUIT; ` + ask + loops,
		"lent, waiting":  ask + "echo ready; read x",
		"lent to a part": "timeout 600 sh -c '" + ask + loops + "'",
	} {
		for key, code := range map[string]string{ctrlC: "130", ctrlBackslash: "131"} {
			t.Run(name+" "+code, func(t *testing.T) {
				t.Parallel()
				needTimeout(t, script)
				c := newConsole(t, "echo $$ >pid; "+script)
				c.runs("snug profile -- sh train.sh; echo e_nd $?")
				c.sees("ready")
				c.types(key)
				c.sees("snug: interrupted; no profile was written")
				c.sees("end " + code)
				c.runs("stty -a | grep -o '[^-]echo ' && ! kill -0 $(cat pid) && echo e_nd")
				c.sees("end")
			})
		}
	}
}

// Ctrl-Z stops the command and snug, and fg continues both.
func TestTerminalPause(t *testing.T) {
	const script = "echo ready; while test ! -e go; do sleep 0.1; done; echo went-on; exit 7"
	for name, script := range map[string]string{
		"snug's":        "echo $$ >pid; " + script,
		"the command's": "echo $$ >pid; stty -echo </dev/tty; " + script,
		"a part's":      "timeout 600 sh -c 'echo $$ >pid; stty -echo </dev/tty; " + script + "'",
	} {
		t.Run(name, func(t *testing.T) {
			needTimeout(t, script)
			c := newConsole(t, script)
			c.runs("snug profile -- sh train.sh")
			c.sees("ready")
			c.types(ctrlZ)
			c.sees("Stopped")
			c.runs("grep -o 'T (stopped)' /proc/$(cat pid)/status; echo e_nd")
			c.sees("T (stopped)")
			c.sees("end")
			c.runs("touch go; fg; echo e_nd $?")
			c.sees("went-on")
			c.sees("end 7")
		})
	}
}

// In the background snug has no terminal to pass on. It tells the user, and fg provides one.
func TestTerminalInBackground(t *testing.T) {
	c := newConsole(t, "read x; echo got-$x; exit 7")
	c.runs("snug profile -- sh train.sh &")
	c.sees("the command is waiting for the terminal, but snug is in the background; bring it back with fg")
	c.runs("fg; echo e_nd $?")
	c.types("hello\n")
	c.sees("got-hello")
	c.sees("end 7")
}

// Without a terminal a command gets an error immediately.
func TestTerminalMissing(t *testing.T) {
	c := newConsole(t, "read x </dev/tty; echo read-$?; exit 7")
	c.runs("setsid -w snug profile -- sh train.sh </dev/null; echo e_nd $?")
	c.sees("/dev/tty")
	c.sees("end 7")
}
