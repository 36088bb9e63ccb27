// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"snug/internal/watch"
)

// Follow emits the events of a recording that may still be growing: existing events at once, new ones as they are
// written. It returns at the recording's last event, or when the context ends. If the file does not exist yet, Follow
// emits a note and waits for it.
func Follow(ctx context.Context, open func() (io.ReadCloser, error), emit func(watch.Event)) error {
	f, err := awaited(ctx, open, emit)
	if err != nil || f == nil {
		return err
	}
	defer f.Close()
	tail := &tail{ctx: ctx, in: f}
	tail.size, _ = f.(interface{ Stat() (fs.FileInfo, error) })
	r, err := watch.NewReader(tail)
	if err != nil {
		return err
	}
	for {
		e, err := r.Next()
		if tail.replaced {
			return ErrReplaced
		}
		if ctx.Err() != nil || errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		emit(e)
		tail.ended = tail.ended || e.Kind == watch.KindEnd
	}
}

// ErrReplaced means that the recording became shorter, because another run is writing the same file.
var ErrReplaced = errors.New("the recording was replaced by another one")

// poll is the interval at which a file is checked for new events.
const poll = 200 * time.Millisecond

// awaited opens the file as soon as it exists. It returns nil if the context ends first.
func awaited(ctx context.Context, open func() (io.ReadCloser, error), emit func(watch.Event)) (io.ReadCloser, error) {
	for told := false; ; told = true {
		f, err := open()
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
		if !told {
			emit(watch.Event{Kind: watch.KindNote, Message: "the recording does not exist yet; waiting for it"})
		}
		if !sleep(ctx, poll) {
			return nil, nil
		}
	}
}

// sleep waits for d. It returns false if the context ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// tail reads a growing file. At the end of the file it waits for more, unless the recording has ended.
type tail struct {
	ctx   context.Context
	in    io.Reader
	size  interface{ Stat() (fs.FileInfo, error) } // nil if it is not a file
	read  int64                                    // bytes read so far
	ended bool

	replaced bool
}

func (t *tail) Read(p []byte) (int, error) {
	for {
		n, err := t.in.Read(p)
		if t.read == 0 && n > 1 && p[0] == 0x1f && p[1] == 0x8b {
			t.ended = true // a gzipped recording was compressed after the run
		}
		t.read += int64(n)
		if n > 0 || err != nil && !errors.Is(err, io.EOF) {
			return n, err
		}
		if t.ended || !sleep(t.ctx, poll) {
			return 0, io.EOF
		}
		if t.size == nil {
			continue
		}
		if info, err := t.size.Stat(); err == nil && info.Size() < t.read {
			t.replaced = true
			return 0, io.EOF
		}
	}
}
