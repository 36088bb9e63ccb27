// SPDX-License-Identifier: Apache-2.0

package change

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"snug/internal/files"
)

// Files is the file system as a change needs it. Paths are those of the system.
// Tests put one in that stops at a step.
type Files interface {
	ReadFile(name string) ([]byte, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	Lstat(name string) (fs.FileInfo, error)
	Stat(name string) (fs.FileInfo, error)
	// Resolve follows symbolic links to the file itself.
	Resolve(name string) (string, error)

	Mkdir(name string, mode fs.FileMode) error
	// Create makes a file that must not be there yet.
	Create(name string, mode fs.FileMode) (Output, error)
	// Own gives a new file the owner of an old one.
	Own(name string, like fs.FileInfo) error
	Rename(from, to string) error
	Remove(name string) error
	// SyncDir makes renames in a folder last.
	SyncDir(name string) error
}

// Output is a file being written.
type Output interface {
	io.Writer
	Chmod(mode fs.FileMode) error
	Sync() error
	Close() error
}

// largestFile holds every config file that is changed, and the journal of several.
const largestFile = 64 << 20

// Disk is the real file system.
type Disk struct{}

// ReadFile reads a file.
func (Disk) ReadFile(name string) ([]byte, error) { return files.Read(name, largestFile) }

// ReadDir lists a folder.
func (Disk) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

// Lstat describes a file or a link.
func (Disk) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(name) }

// Stat describes a file, at the end of its links.
func (Disk) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

// Resolve follows links.
func (Disk) Resolve(name string) (string, error) { return filepath.EvalSymlinks(name) }

// Mkdir makes a folder.
func (Disk) Mkdir(name string, mode fs.FileMode) error { return os.Mkdir(name, mode) }

// Create makes a file that is not there.
func (Disk) Create(name string, mode fs.FileMode) (Output, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, err // not a nil *os.File in an Output
	}
	return f, nil
}

// Rename moves a file over another.
func (Disk) Rename(from, to string) error { return os.Rename(from, to) }

// Remove removes a file.
func (Disk) Remove(name string) error { return os.Remove(name) }

// SyncDir makes renames in a folder last. Systems that cannot are left alone.
func (Disk) SyncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrInvalid) && !unsupportedSync(err) {
		return err
	}
	return nil
}

// reason strips the operation and the path that messages name themselves.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err
	}
	return err
}
