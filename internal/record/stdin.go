// SPDX-License-Identifier: Apache-2.0

package record

import (
	"io"
	"os"
)

// input returns the command's standard input: the terminal, file or pipe that it would have without snug, or nil. A
// file is rewound for every run.
func (s *Session) input() *os.File {
	f := s.env.Stdin
	if f == nil {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	if info.Mode().IsRegular() {
		if s.inputAt == nil {
			at, err := f.Seek(0, io.SeekCurrent)
			if err != nil {
				return f
			}
			s.inputAt = &at
		}
		_, _ = f.Seek(*s.inputAt, io.SeekStart)
	}
	return f
}
