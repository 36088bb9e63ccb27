// SPDX-License-Identifier: Apache-2.0

//go:build unix

package change

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// dontWait prevents blocking if the file is a pipe.
const dontWait = syscall.O_NONBLOCK

// inode returns a file's inode number.
func inode(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Ino)
	}
	return 0
}

// copyOwner gives a file the owner and the group of another.
func copyOwner(to, from *os.File) error {
	want, err := from.Stat()
	if err != nil {
		return err
	}
	have, err := to.Stat()
	if err != nil {
		return err
	}
	w, ok := want.Sys().(*syscall.Stat_t)
	h, also := have.Sys().(*syscall.Stat_t)
	if !ok || !also || h.Uid == w.Uid && h.Gid == w.Gid {
		return nil
	}
	return to.Chown(int(w.Uid), int(w.Gid))
}

// otherNames returns the number of additional hard links of a file.
func otherNames(info fs.FileInfo) int {
	if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Nlink > 1 {
		return int(s.Nlink) - 1
	}
	return 0
}

// unsupportedSync reports whether an error means that the file system cannot sync folders.
func unsupportedSync(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP)
}
