// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

func TestRead(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.json")
	if err := os.WriteFile(name, []byte("12345678"), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := Read(name, 8); err != nil || string(data) != "12345678" {
		t.Errorf("got %q, %v", data, err)
	}
	_, err := Read(name, 7)
	if !errors.As(err, &TooLargeError{}) || !strings.Contains(err.Error(), "larger than 7 bytes") {
		t.Errorf("one byte more than allowed: %v", err)
	}
	if _, err := Read(name+".not", 8); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// A sparse file of a terabyte is refused because of its size alone.
func TestReadSparse(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.json")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, 1<<40); err != nil {
		t.Skip("no sparse files here:", err)
	}
	if _, err := Read(name, 16<<20); err == nil || !strings.Contains(err.Error(), "larger than 16 MiB") {
		t.Errorf("got %v", err)
	}
}

func TestReadAFolder(t *testing.T) {
	for _, open := range []func(string) (*os.File, error){Open, OpenNamed} {
		if _, err := open(t.TempDir()); !errors.Is(err, ErrFolder) {
			t.Errorf("got %v", err)
		}
	}
}

// The limit applies whatever size a file claims, and however it is read.
func TestReadAll(t *testing.T) {
	text := strings.Repeat("x", 4096)
	for _, r := range []func() io.Reader{
		func() io.Reader { return strings.NewReader(text) },
		func() io.Reader { return iotest.OneByteReader(strings.NewReader(text)) },
		func() io.Reader { return iotest.DataErrReader(strings.NewReader(text)) },
	} {
		if data, err := ReadAll(r(), 4096); err != nil || string(data) != text {
			t.Errorf("%d bytes, %v", len(data), err)
		}
		if _, err := ReadAll(r(), 4095); !errors.As(err, &TooLargeError{}) {
			t.Errorf("one byte more than allowed: %v", err)
		}
		if data, err := io.ReadAll(Limit(r(), 4096)); err != nil || string(data) != text {
			t.Errorf("limited: %d bytes, %v", len(data), err)
		}
		if data, err := io.ReadAll(Limit(r(), 100)); !errors.As(err, &TooLargeError{}) || len(data) != 100 {
			t.Errorf("limited: %d bytes, %v", len(data), err)
		}
	}
	broken := errors.New("broken")
	if _, err := ReadAll(iotest.ErrReader(broken), 9); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestReadDir(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"c", "a", "b"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := ReadDir(dir, 3)
	if err != nil || len(entries) != 3 || entries[0].Name() != "a" || entries[2].Name() != "c" {
		t.Errorf("got %v, %v", entries, err)
	}
	if _, err := ReadDir(dir, 2); !errors.As(err, &TooManyError{}) {
		t.Errorf("one more than allowed: %v", err)
	}
	if _, err := ReadDir(t.TempDir(), 2); err != nil {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := ReadDir(filepath.Join(dir, "not"), 2); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
}
