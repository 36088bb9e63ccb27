// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"snug/internal/run"
	"snug/internal/watch"
)

// Command is a run that snug starts.
type Command struct {
	Args           []string         // the program and its arguments
	Env            []string         // its environment, NAME=value
	Stdin          *os.File         // nil means no input
	Stdout, Stderr io.Writer        // receive the command's output
	Runner         run.Runner       // nil means that the command runs on this machine
	TempDir        string           // "" means the system default
	Signals        <-chan os.Signal // signals to forward
	WandB          bool             // log to Weights & Biases, if the run uses it

	Outcome *run.Outcome // how it ended; set by Run
}

// startCommand starts the command, if there is one. The first channel delivers reports from its processes; the second
// delivers its exit.
func (s *session) startCommand(ctx context.Context) (<-chan watch.Event, <-chan error, error) {
	c := s.Command
	if c == nil {
		return nil, nil, nil
	}
	folder, err := run.NewFolder(c.TempDir, run.Settings{Steps: 1, KeepRunning: true, Live: &run.Live{WandB: c.WandB}})
	if err != nil {
		return nil, nil, err
	}
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: folder.Socket(), Net: "unixgram"})
	if err != nil {
		_ = folder.Remove()
		return nil, nil, fmt.Errorf("making a socket for the run: %w; set TMPDIR to a shorter path", err)
	}
	_ = socket.SetReadBuffer(1 << 20)
	steps, done, received := make(chan watch.Event, 1024), make(chan error, 1), make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(received)
		receive(ctx, socket, steps, ended)
	}()
	go func() {
		r := &run.Session{
			Args: c.Args, Env: c.Env, Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr, Signals: c.Signals, Runner: c.Runner,
		}
		out, err := r.Run(ctx, folder)
		c.Outcome = out
		close(ended)
		_ = socket.SetReadDeadline(time.Now().Add(last)) // wakes receive
		<-received
		_ = socket.Close()
		_ = folder.Remove()
		done <- err
	}()
	return steps, done, nil
}

// last is how long receive waits for a report after the command has ended. Its last reports, such as that memory ran out, may still
// be in the socket's queue.
const last = 20 * time.Millisecond

// receive reads the probes' reports until the command has ended and its queue is empty. It skips anything that is not an event: a report
// must never cause a failure.
func receive(ctx context.Context, socket *net.UnixConn, to chan<- watch.Event, ended <-chan struct{}) {
	buffer := make([]byte, 1<<16)
	for {
		n, err := socket.Read(buffer)
		if err != nil {
			return
		}
		var e watch.Event
		if json.Unmarshal(buffer[:n], &e) == nil && e.Kind != watch.KindEnd { // one process has ended; the others may continue
			select {
			case to <- e:
			case <-ctx.Done(): // nobody watches any more
				return
			}
		}
		select {
		case <-ended:
			_ = socket.SetReadDeadline(time.Now().Add(last))
		default:
		}
	}
}
