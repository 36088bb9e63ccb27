// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"io"
	"slices"
)

// maxSpooled limits how much of a file is read ahead to find out how to answer it: about half a million
// setups.
const maxSpooled = 64 << 20

var errSpooled = errors.New("too many setups have their own limit; name the card with --gpu or --gpu-memory, or split the file")

// spool is a file that can be read a second time from its beginning, even if it is a pipe. It keeps the data
// from the first reading, and releases it during the second.
type spool struct {
	in     io.Reader
	err    error    // the error that ended reading
	kept   [][]byte // data read so far
	size   int
	second bool
}

func (s *spool) Read(p []byte) (int, error) {
	if s.second && len(s.kept) > 0 {
		n := copy(p, s.kept[0])
		if s.kept[0] = s.kept[0][n:]; len(s.kept[0]) == 0 {
			s.kept = s.kept[1:]
		}
		return n, nil
	}
	if s.err != nil {
		return 0, s.err
	}
	var n int
	n, s.err = s.in.Read(p)
	if s.second {
		return n, s.err
	}
	if s.size += n; s.size > maxSpooled {
		s.err = errSpooled
		return 0, s.err
	}
	if n > 0 {
		s.kept = append(s.kept, slices.Clone(p[:n]))
	}
	return n, s.err
}

// again starts reading from the beginning.
func (s *spool) again() { s.second = true }
