// SPDX-License-Identifier: Apache-2.0

package change

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// Folder is a project's folder as a change sees it. Names are relative to it,
// with slashes. No name leads out of it, not through links either: such a call
// fails with ErrOutside. Tests put in a Folder that fails at a chosen call.
type Folder interface {
	// Path is where the folder is on this machine, with links resolved.
	Path() string
	// Inode is the folder's own number on its file system, 0 where there is none.
	Inode() uint64
	// Resolve follows links to the file itself and returns its name.
	Resolve(name string) (string, error)

	ReadFile(name string) ([]byte, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	Lstat(name string) (fs.FileInfo, error)

	Mkdir(name string) error
	// Create makes a file that must not exist yet, private to its owner.
	Create(name string) (Output, error)
	Rename(from, to string) error
	Remove(name string) error
	// SyncDir makes the renames in a folder last.
	SyncDir(name string) error
	// Lock holds a file until release, which removes it. While another process
	// holds it, Lock fails with an error that says who.
	Lock(name, holder string) (release func(), err error)
}

// Output is a file being written.
type Output interface {
	io.Writer
	// Like gives the file the owner, the access list and the attributes of
	// another file of the folder.
	Like(name string) error
	Chmod(mode fs.FileMode) error
	Sync() error
	Close() error
}

// ErrOutside says that a file is not inside the project's folder.
var ErrOutside = errors.New("outside the project's folder")

// plainError strips the operation and the path, which messages name themselves.
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
