// SPDX-License-Identifier: Apache-2.0

//go:build unix

package files

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Anything other than a regular file is recognized without blocking.
func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	fifo, link := filepath.Join(dir, "fifo"), filepath.Join(dir, "config.json")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{
		"/dev/zero": "it is a device",
		fifo:        "it is a pipe",
		dir:         "it is a folder",
	} {
		_ = os.Remove(link)
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{link, target} {
			if _, err := Read(name, 1<<20); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", name, err, want)
			}
		}
	}
}

// A pipe or device that the user names is refused without waiting for it.
func TestOpenNamedRefuses(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		fifo:        fifo + ": it is a pipe, not a regular file; copy it to a file first",
		"/dev/zero": "/dev/zero: it is a device, not a regular file; copy it to a file first",
	} {
		opened := make(chan error, 1)
		go func() {
			_, err := OpenNamed(name)
			opened <- err
		}()
		select {
		case err := <-opened:
			if !errors.Is(err, ErrNotRegular) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", name, err, want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s is waited for", name)
		}
	}
}

// A pipe that the shell opened can be read under the name that the shell gives it.
func TestOpenNamedDescriptor(t *testing.T) {
	for _, name := range []string{"/dev/fd/%d", "/proc/self/fd/%d", "/proc/" + strconv.Itoa(os.Getpid()) + "/fd/%d"} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		name = fmt.Sprintf(name, r.Fd())
		if _, err := os.Stat(name); err != nil {
			_ = w.Close()
			continue // this system has no such name
		}
		written := make(chan error, 1)
		go func() {
			_, err := w.WriteString("hello")
			written <- errors.Join(err, w.Close())
		}()
		f, err := OpenNamed(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if data, err := ReadAll(f, 100); err != nil || string(data) != "hello" {
			t.Errorf("%s: got %q, %v", name, data, err)
		}
		if err := <-written; err != nil {
			t.Error(err)
		}
	}
}
