// SPDX-License-Identifier: Apache-2.0

package change

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// A journal belongs to one folder on one machine. Each of its files records where it was written and has a
// seal: an HMAC over the rest of the file, keyed with the user's random number (see key.go) and the machine's
// identity. So an entry that came with a clone can always be distinguished from one of our own. The folder is
// the same if its path or its inode is the same: a folder may be moved, and some file systems renumber their
// folders at each mount. A copy has neither.

// owner is the part of a journal file that identifies its machine and folder.
type owner struct {
	Host   string `json:"host"`
	Folder string `json:"folder"`
	Inode  uint64 `json:"inode,omitempty"`
	Seal   string `json:"seal"`
}

func (o *owner) owned() *owner { return o }

// sealed is a journal file with a seal.
type sealed interface{ owned() *owner }

// seal marks a journal file as written on this machine for this folder.
func (s *Store) seal(f sealed) error {
	if s.keyless {
		s.keyed(makeKey())
	}
	o := f.owned()
	*o = owner{Host: s.host, Folder: s.folder.Path(), Inode: s.folder.Inode()}
	sum, err := s.mac(f)
	o.Seal = sum
	return err
}

// owns reports whether a journal file was written on this machine for this folder.
func (s *Store) owns(f sealed) bool {
	o := f.owned()
	sum, err := s.mac(f)
	return s.here(o) && err == nil && hmac.Equal([]byte(sum), []byte(o.Seal))
}

// here reports whether a journal file names this folder.
func (s *Store) here(o *owner) bool {
	return o.Folder == s.folder.Path() || o.Inode != 0 && o.Inode == s.folder.Inode()
}

// mac returns the seal of a file, computed over the file without its seal.
func (s *Store) mac(f sealed) (string, error) {
	o := f.owned()
	kept := o.Seal
	o.Seal = ""
	data, err := json.Marshal(f)
	o.Seal = kept
	if err != nil {
		return "", err
	}
	m := hmac.New(sha256.New, []byte("snug journal\x00"+s.machine))
	m.Write(data)
	return hex.EncodeToString(m.Sum(nil)), nil
}

// checkPath refuses names that snug never writes: absolute paths, paths that lead out of the folder, and
// files of snug itself or git.
func checkPath(name string) error {
	if name != path.Clean(name) || !filepath.IsLocal(filepath.FromSlash(name)) || name == "." {
		return fmt.Errorf("%q is not a file inside the project's folder", name)
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == snugFolder || part == ".git" {
			return fmt.Errorf("%q is not a file of the project", name)
		}
	}
	return nil
}

// checkFolders refuses links in place of snug's own folders, because files would be written somewhere else.
func (s *Store) checkFolders() error {
	for _, name := range []string{snugFolder, journalFolder} {
		info, err := s.folder.Lstat(name)
		if err != nil {
			return nil // does not exist yet; a caller that needs it reports the error
		}
		if !info.IsDir() {
			return fmt.Errorf("%s is a link or a file, but snug needs a folder there for its journal; remove it", s.at(name))
		}
	}
	return nil
}

// errNoChange means that there is nothing to revert.
var errNoChange = errors.New("there is no change to undo")

// noChange wraps errNoChange and mentions the changes that others made.
func (s *Store) noChange(foreign []*Entry) error {
	if len(foreign) > 0 {
		return fmt.Errorf("%s: %w; %s", s.root, errNoChange, s.foreignText(foreign))
	}
	return fmt.Errorf("%s: %w", s.root, errNoChange)
}
