// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"io"
	"strings"
	"sync"

	"snug/internal/watch/export"
	"snug/internal/watch/screen"
)

// onScreen shows the run on the full screen until the user quits or, if a command was started, until it has ended. The
// last reading stays on the terminal.
func (s *watching) onScreen(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	view := s.env.screen()
	speed := 0.0
	if s.o.replay != "" {
		speed = 1
		if s.o.paced {
			speed = s.o.speed
		}
	}
	p := screen.New(ctx, s.env.Stdin, raw(s.env.Stdout), s.env.environ(), screen.Canvas{
		Width: view.Width, Height: view.Height, Color: view.Color, Unicode: view.Unicode, Speed: speed, Title: s.title(),
	})
	if speed > 0 {
		s.speed = p.Speed
	}
	s.sinks = append(s.sinks, p)
	out := s.redirect(p)
	ended := make(chan error, 1)
	go func() {
		err := s.feed(ctx)
		if err != nil || s.command != nil {
			p.Quit()
		} else {
			_ = p.Close(s.watcher)
		}
		ended <- err
	}()
	shown := p.Run()
	out.release()
	if s.command == nil {
		cancel()
	}
	err := <-ended
	s.env.say(strings.TrimSpace(export.PlainLine(s.watcher.Now())))
	return firstOf(err, shown)
}

// title returns what is being watched.
func (s *watching) title() string {
	switch {
	case s.o.replay != "":
		return s.o.replay
	case s.command != nil:
		return s.env.secrets(s.o.command).Hide(strings.Join(s.o.command, " "))
	}
	return ""
}

// redirect sends the command's output to the view until release, and to its original destination after that. The
// command has no standard input, because the view reads the keys.
func (s *watching) redirect(p *screen.Program) *redirected {
	r := &redirected{to: p.Output()}
	if s.command == nil {
		return r
	}
	r.after = s.command.Stdout
	s.command.Stdout, s.command.Stderr, s.command.Stdin = r, r, nil
	return r
}

// redirected is a writer whose destination changes.
type redirected struct {
	mu    sync.Mutex
	to    io.Writer
	after io.Writer // nil if nothing is redirected
	kept  []byte    // the end of what was written before release
}

// mostKept is how much of a command's output is printed again after the full screen closes.
const mostKept = 1 << 14

// Write writes to the current destination.
func (r *redirected) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = append(r.kept, p...)
	if n := len(r.kept) - mostKept; n > 0 {
		r.kept = append(r.kept[:0], r.kept[n:]...)
	}
	return r.to.Write(p)
}

// release sends the output to its original destination, starting with the last part that the view showed.
func (r *redirected) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.after == nil {
		return
	}
	r.to = r.after
	_, _ = r.to.Write(r.kept)
}
