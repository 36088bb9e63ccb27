// SPDX-License-Identifier: Apache-2.0

// Package files opens every file that snug reads.
//
// A project folder is untrusted and may contain anything: a link to /dev/zero named config.json never ends, opening a
// FIFO blocks, and a sparse file of a terabyte takes no disk space. So a file that was found in a folder, or that
// another file names, must be a regular file, and no file is read beyond a limit that the caller sets for its kind.
//
// A file that the user names on the command line may also be one that the shell opened for snug, as in
// `snug estimate --setup <(make-setups)`. The limit applies to it too.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Open opens a regular file that was found in a folder or named by another file. Anything else is refused
// without blocking.
func Open(name string) (*os.File, error) {
	f, err := open(name)
	if err != nil {
		return nil, err
	}
	return checked(f, name, func(m fs.FileMode) bool { return m.IsRegular() })
}

// OpenNamed opens a file that the user named on the command line: a regular file, or anything if the name refers to
// one of this process's open files. Other pipes might never get a writer, so they are refused without blocking, as
// are devices.
func OpenNamed(name string) (*os.File, error) {
	if !descriptor(name) {
		f, err := Open(name)
		if is := (notRegularError{}); errors.As(err, &is) {
			err = &fs.PathError{Op: "open", Path: name, Err: notRegularError{is.what, true}}
		}
		return f, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return checked(f, name, func(m fs.FileMode) bool {
		return m.IsRegular() || m&fs.ModeNamedPipe != 0 || m&fs.ModeCharDevice != 0
	})
}

// descriptor reports whether a name refers to an already open file: standard input, or what a shell substitutes for
// <(...).
func descriptor(name string) bool {
	name = path.Clean(filepath.ToSlash(name))
	if name == "/dev/stdin" {
		return true
	}
	for _, folder := range []string{"/dev/fd", "/proc/self/fd", "/proc/[0-9]*/fd"} {
		if ok, _ := path.Match(folder, path.Dir(name)); ok {
			return true
		}
	}
	return false
}

// checked returns f, or an error if ok refuses its kind. It checks the open file, because a name may refer to
// another file a moment later.
func checked(f *os.File, name string, ok func(fs.FileMode) bool) (*os.File, error) {
	info, err := f.Stat()
	if err == nil && !ok(info.Mode()) {
		err = &fs.PathError{Op: "open", Path: name, Err: notRegular(info.Mode())}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// notRegular returns the error for a file of another kind.
func notRegular(m fs.FileMode) error {
	if m.IsDir() {
		return ErrFolder
	}
	return notRegularError{what: Kind(m)}
}

// Kind returns a description of a file's kind.
func Kind(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "a regular file"
	case m.IsDir():
		return "a folder"
	case m&fs.ModeSymlink != 0:
		return "a link"
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}

var (
	// ErrFolder means that a name refers to a folder.
	ErrFolder = errors.New("it is a folder; name a file")
	// ErrNotRegular means that a name refers to neither a regular file nor a folder.
	ErrNotRegular = errors.New("only regular files are read here")
)

// notRegularError is ErrNotRegular with a description of the file.
type notRegularError struct {
	what  string
	named bool // the user named the file, so the message suggests copying it
}

func (e notRegularError) Error() string {
	if e.named {
		return fmt.Sprintf("it is %s, not a regular file; copy it to a file first", e.what)
	}
	return fmt.Sprintf("it is %s; %v", e.what, ErrNotRegular)
}

// Is reports whether target is ErrNotRegular.
func (e notRegularError) Is(target error) bool { return target == ErrNotRegular }

// Read reads a regular file of at most limit bytes.
func Read(name string, limit int64) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := ReadOpen(f, limit)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: bare(err)}
	}
	return data, nil
}

// ReadOpen reads an open file, which must be a regular file of at most limit bytes.
func ReadOpen(f *os.File, limit int64) ([]byte, error) {
	info, err := f.Stat()
	if err == nil {
		err = Regular(info)
	}
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, TooLargeError{limit}
	}
	return readAll(f, info.Size(), limit)
}

// Regular returns an error if info does not describe a regular file.
func Regular(info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return notRegular(info.Mode())
}

// ReadAll reads all of r, and fails if that is more than limit bytes.
func ReadAll(r io.Reader, limit int64) ([]byte, error) { return readAll(r, 0, limit) }

// readAll reads a stream with an expected size. The size is only a hint: a file may grow while it is read, and
// files in /proc report a size of 0.
func readAll(r io.Reader, size, limit int64) ([]byte, error) {
	data := make([]byte, 0, min(size, limit)+512)
	for {
		n, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case int64(len(data)) > limit:
			return nil, TooLargeError{limit}
		case errors.Is(err, io.EOF):
			return data, nil
		case err != nil:
			return nil, err
		case len(data) == cap(data):
			data = append(make([]byte, 0, min(2*int64(cap(data)), limit+1)), data...)
		}
	}
}

// bare returns an error without its operation and path, which the caller adds.
func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
