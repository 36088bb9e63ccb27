// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"snug/internal/watch"
)

// A recording is followed while it is written: later lines arrive in pieces until its end.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "run.jsonl")
		var got []watch.Event
		done := make(chan error)
		go func() {
			done <- Follow(t.Context(), func() (io.ReadCloser, error) { return os.Open(path) }, func(e watch.Event) { got = append(got, e) })
		}()
		time.Sleep(time.Second)
		synctest.Wait()
		if len(got) != 1 || got[0].Kind != watch.KindNote {
			t.Fatalf("before the file exists: %v", got)
		}
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for i, text := range []string{`{"t":0,"kind":"start"}` + "\n" + `{"t":1,"kind":"st`, `ep","step":1,"allocated":5}` + "\n", `{"t":2,"kind":"end"}` + "\n"} {
			if _, err := f.WriteString(text); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			if len(got) != i+2 {
				t.Fatalf("after part %d: %v", i, got)
			}
		}
		if err := <-done; err != nil || got[2].Step.Allocated != 5 {
			t.Errorf("%v, %v", err, got)
		}
	})
}

// Follow stops at a recording that another run replaces, and at a file that is not a recording.
func TestFollowStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "run.jsonl")
		follow := func(ctx context.Context, text string) chan error {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() {
				done <- Follow(ctx, func() (io.ReadCloser, error) { return os.Open(path) }, func(watch.Event) {})
			}()
			time.Sleep(time.Second)
			return done
		}
		done := follow(t.Context(), `{"t":0,"kind":"start"}`+"\n")
		if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := <-done; !errors.Is(err, ErrReplaced) {
			t.Errorf("replaced: %v", err)
		}
		if err := <-follow(t.Context(), "hello\nhello\n"); err == nil {
			t.Error("a text file was accepted as a recording")
		}
		ctx, cancel := context.WithCancel(t.Context())
		done = follow(ctx, `{"t":0,"kind":"start"}`+"\n")
		cancel()
		if err := <-done; err != nil {
			t.Errorf("left: %v", err)
		}
	})
}
