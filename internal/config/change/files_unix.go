// SPDX-License-Identifier: Apache-2.0

//go:build unix

package change

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// Own gives a file the owner and the group of another.
func (Disk) Own(name string, like fs.FileInfo) error {
	want, ok := like.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	info, err := os.Lstat(name)
	if err != nil {
		return err
	}
	if have, ok := info.Sys().(*syscall.Stat_t); ok && have.Uid == want.Uid && have.Gid == want.Gid {
		return nil
	}
	return os.Lchown(name, int(want.Uid), int(want.Gid))
}

// otherNames is how many more names a file has.
func otherNames(info fs.FileInfo) int {
	if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Nlink > 1 {
		return int(s.Nlink) - 1
	}
	return 0
}

// unsupportedSync says whether a file system has no sync for folders.
func unsupportedSync(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP)
}

// processAlive says whether a process is there.
func processAlive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
