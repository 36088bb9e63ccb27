// SPDX-License-Identifier: Apache-2.0

//go:build unix

package files

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What stands in the place of a file is told apart without being waited for.
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

// What the user names may be a pipe.
func TestOpenNamedPipe(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() { written <- os.WriteFile(fifo, []byte("hello"), 0) }()
	f, err := OpenNamed(fifo)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if data, err := ReadAll(f, 100); err != nil || string(data) != "hello" {
		t.Errorf("got %q, %v", data, err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
	zero, err := OpenNamed("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	defer zero.Close()
	if _, err := ReadAll(zero, 1<<20); err == nil || !strings.Contains(err.Error(), "larger than 1 MiB") {
		t.Errorf("got %v", err)
	}
}
