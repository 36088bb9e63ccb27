// SPDX-License-Identifier: Apache-2.0

package change

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"snug/internal/filelock"
	"snug/internal/files"
)

// Disk is a folder of the real file system. Every call goes through an os.Root, so even a link that is
// created between two calls cannot lead out of it.
type Disk struct {
	root  *os.Root
	path  string
	inode uint64
}

// largestFile limits what is read into memory. A config is a few kilobytes, and a journal entry contains the
// configs of one change.
const largestFile = 32 << 20

// OpenDisk opens a folder.
func OpenDisk(path string) (*Disk, error) {
	path, err := filepath.Abs(path)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	info, err := root.Stat(".")
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	return &Disk{root, path, inode(info)}, nil
}

// Close closes the folder.
func (d *Disk) Close() error { return d.root.Close() }

// Path returns the path of the folder, with links resolved.
func (d *Disk) Path() string { return d.path }

// Inode returns the folder's inode number, or 0.
func (d *Disk) Inode() uint64 { return d.inode }

// Resolve follows links to the file itself.
func (d *Disk) Resolve(name string) (string, error) {
	path := filepath.FromSlash(name)
	if !filepath.IsAbs(path) {
		path = filepath.Join(d.path, path)
	}
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(d.path, path)
	if err != nil || !filepath.IsLocal(rel) {
		return "", ErrOutside
	}
	return filepath.ToSlash(rel), nil
}

// ReadFile reads a regular file of a bounded size.
func (d *Disk) ReadFile(name string) ([]byte, error) {
	f, err := d.root.OpenFile(name, os.O_RDONLY|dontWait, 0)
	if err != nil {
		return nil, outside(err)
	}
	defer f.Close()
	return files.ReadOpen(f, largestFile)
}

// outside converts os.Root's refusal to leave the folder to ErrOutside, and returns other errors unchanged.
func outside(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) && path.Err.Error() == "path escapes from parent" {
		return ErrOutside
	}
	return err
}

// maxListed limits how many entries of a folder are listed: for ten million files the list alone takes
// gigabytes.
const maxListed = 200_000

// ReadDir lists a folder, sorted by name.
func (d *Disk) ReadDir(name string) ([]fs.DirEntry, error) {
	f, err := d.root.Open(name)
	if err != nil {
		return nil, outside(err)
	}
	defer f.Close()
	entries, err := f.ReadDir(maxListed + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(entries) > maxListed {
		return nil, fmt.Errorf("it contains more than %d files", maxListed)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// Lstat describes a file or a link.
func (d *Disk) Lstat(name string) (fs.FileInfo, error) { return d.root.Lstat(name) }

// Mkdir creates a folder.
func (d *Disk) Mkdir(name string) error { return d.root.Mkdir(name, 0o755) }

// Create creates a file that must not exist yet.
func (d *Disk) Create(name string) (Output, error) {
	f, err := d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, outside(err)
	}
	return diskOutput{f, d}, nil
}

type diskOutput struct {
	*os.File
	disk *Disk
}

// Like copies the owner, access list and attributes.
func (o diskOutput) Like(name string) error {
	like, err := o.disk.root.OpenFile(name, os.O_RDONLY|dontWait, 0)
	if err != nil {
		return err
	}
	defer like.Close()
	return copyAttributes(o.File, like)
}

// Rename moves a file over another.
func (d *Disk) Rename(from, to string) error { return d.root.Rename(from, to) }

// Remove removes a file or an empty folder.
func (d *Disk) Remove(name string) error { return d.root.Remove(name) }

// SyncDir makes renames in a folder survive a crash. On systems that cannot sync folders it does
// nothing.
func (d *Disk) SyncDir(name string) error {
	f, err := d.root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrInvalid) && !unsupportedSync(err) {
		return err
	}
	return nil
}

// Lock takes the system's lock on a file. The file is removed before the lock is released, so a process that
// waited may have locked a deleted file; it then tries again.
func (d *Disk) Lock(name, holder string) (release func(), err error) {
	for range 100 {
		f, err := d.lockFile(name)
		if err != nil {
			return nil, err
		}
		err = filelock.Try(f)
		if errors.Is(err, filelock.ErrHeld) {
			by, _ := io.ReadAll(io.LimitReader(f, 200))
			f.Close()
			return nil, heldBy(string(by))
		}
		if err != nil && !errors.Is(err, filelock.ErrUnsupported) {
			f.Close()
			return nil, err
		}
		if d.names(name, f) {
			_ = f.Truncate(0)
			_, _ = f.WriteString(holder + "\n")
			return func() { _ = d.root.Remove(name); _ = f.Close() }, nil
		}
		f.Close()
	}
	return nil, errors.New("it is in use; try again")
}

func (d *Disk) lockFile(name string) (*os.File, error) {
	if info, err := d.root.Lstat(name); err == nil {
		if err := files.Regular(info); err != nil {
			return nil, err
		}
	}
	return d.root.OpenFile(name, os.O_RDWR|os.O_CREATE|dontWait, 0o600)
}

// names reports whether a name still refers to an open file.
func (d *Disk) names(name string, f *os.File) bool {
	there, err := d.root.Lstat(name)
	if err != nil {
		return false
	}
	held, err := f.Stat()
	return err == nil && os.SameFile(there, held)
}
