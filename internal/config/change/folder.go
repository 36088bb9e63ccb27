// SPDX-License-Identifier: Apache-2.0

package change

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// Folder is the access to a project's folder that a change needs. Names are relative to it, with slashes. A
// name that leads out of it, even through links, fails with ErrOutside. Tests use a Folder that fails at a
// chosen call.
type Folder interface {
	// Path returns the path of the folder on this machine, with links resolved.
	Path() string
	// Inode returns the folder's inode number, or 0.
	Inode() uint64
	// Resolve follows links to the file itself and returns its name.
	Resolve(name string) (string, error)

	// ReadFile returns the content of a file.
	ReadFile(name string) ([]byte, error)
	// ReadDir lists a folder, sorted by name.
	ReadDir(name string) ([]fs.DirEntry, error)
	// Lstat describes a file without following links.
	Lstat(name string) (fs.FileInfo, error)

	// Mkdir creates a folder.
	Mkdir(name string) error
	// Create creates a file that must not exist yet, private to its owner.
	Create(name string) (Output, error)
	// Rename moves a file over another in one step.
	Rename(from, to string) error
	// Remove deletes a file or an empty folder.
	Remove(name string) error
	// SyncDir makes the renames in a folder survive a crash.
	SyncDir(name string) error
	// Lock locks a file until release is called, which removes it. If another process has the lock, Lock
	// returns an error that names the process.
	Lock(name, holder string) (release func(), err error)
}

// Output is a file being written.
type Output interface {
	io.Writer
	// Like gives the file the owner, access list and attributes of another file in the folder.
	Like(name string) error
	// Chmod sets the permissions of the file.
	Chmod(mode fs.FileMode) error
	// Sync writes the file to disk.
	Sync() error
	// Close closes the file.
	Close() error
}

// ErrOutside means that a file is not inside the project's folder.
var ErrOutside = errors.New("outside the project's folder")

// plainError returns the error without its operation and path, which the messages already contain.
func plainError(err error) error {
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
