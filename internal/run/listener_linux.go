// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// listener is a process in another group that reports the signals that key presses send to that group. It ends with
// snug, when its input is closed.
type listener struct {
	cmd *exec.Cmd
	in  io.Closer
}

// listening prints the number of each signal on a line. In some shells a signal makes read return as at the end of
// the input.
const listening = `trap 'echo 2;s=1' INT; trap 'echo 3;s=1' QUIT; trap 'echo 20;s=1' TSTP; echo 0
while :; do s=; read x || test "$s" || exit; done`

// listen starts a listener in a group; it returns nil if that fails.
func listen(group int, to chan<- os.Signal) *listener {
	cmd := exec.Command("/bin/sh", "-c", listening)
	cmd.Env = []string{} // without the mark: it is not part of the run
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: group}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil
	}
	out, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		return nil
	}
	ready := make(chan bool, 1)
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if n, err := strconv.Atoi(lines.Text()); err == nil && n > 0 {
				to <- syscall.Signal(n)
			} else {
				ready <- true
			}
		}
	}()
	select {
	case <-ready:
	case <-time.After(time.Second):
	}
	return &listener{cmd, in}
}

// close ends the listener.
func (l *listener) close() {
	if l == nil {
		return
	}
	_ = l.in.Close()
	_ = l.cmd.Process.Kill()
	_ = l.cmd.Wait()
}
