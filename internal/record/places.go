// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"snug/internal/files"
	"snug/internal/profile"
)

// Runs take long, so output files that cannot be written are reported before the first run.

// errNotRegular is for devices and pipes, which must not be replaced by a file.
var errNotRegular = errors.New("not a regular file")

// checkOutFolder returns an error if the profile's folder does not exist.
func (s *Session) checkOutFolder() error {
	folder := filepath.Dir(s.plan.Out)
	if info, err := s.env.Files.Stat(folder); err != nil || !info.IsDir() {
		return fmt.Errorf("--out %s: the folder %s does not exist", s.plan.Out, folder)
	}
	return nil
}

// checkPlaces returns an error if the profile or the recordings could not be written.
func (s *Session) checkPlaces() error {
	if s.plan.varies() {
		if err := s.checkOut(); err != nil {
			return fmt.Errorf("--out %s: %w", s.plan.Out, cause(err))
		}
	}
	if s.plan.Keep != "" {
		if err := s.checkKeep(); err != nil {
			return fmt.Errorf("--keep %s: %w", s.plan.Keep, cause(err))
		}
	}
	return nil
}

func (s *Session) checkOut() error {
	out := s.plan.Out
	if info, err := s.env.Files.Stat(out); err == nil && info.IsDir() {
		return files.ErrFolder
	}
	if err := CheckReplaceable(s.env.Files, out); err != nil {
		return err
	}
	return s.mayWriteIn(filepath.Dir(out))
}

func (s *Session) checkKeep() error {
	if info, err := s.env.Files.Stat(s.plan.Keep); err == nil && !info.IsDir() {
		return errors.New("it is a file; name a folder")
	}
	return s.mayWriteIn(s.plan.Keep)
}

// CheckReplaceable returns an error if writing a profile to path would replace another kind of file, such as a script
// named by mistake. A nil Files is this machine's file system.
func CheckReplaceable(in Files, path string) error {
	if in == nil {
		in = localFiles{}
	}
	info, err := in.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 || isProfile(in, path) {
		return nil // if the file cannot be written, writing it returns the error
	}
	return errors.New("the file exists and is not a profile, so it was not replaced; name another file")
}

// isProfile reports whether a file is a memory.snug.
func isProfile(in Files, path string) bool {
	f, err := in.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head, _ := bufio.NewReader(f).Peek(8)
	return profile.Is(head)
}

// mayWriteIn returns an error if no file can be created in a folder or, if it does not exist yet, in its nearest
// existing parent.
func (s *Session) mayWriteIn(folder string) error {
	for folder != filepath.Dir(folder) {
		if _, err := s.env.Files.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		folder = filepath.Dir(folder)
	}
	return s.work.MayWriteIn(folder)
}

// cause returns an error without its operation and path, which the message already contains.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
