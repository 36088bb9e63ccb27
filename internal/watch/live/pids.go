// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"strconv"
	"strings"
)

// Alive is whether a process exists.
type Alive int

// The possible answers about a process.
const (
	Gone    Alive = iota // the process does not exist
	Ours                 // the process exists
	Foreign              // the process exists and belongs to another user
)

// checkPIDs returns an error if a process that the user named does not exist. For another user's process, only what
// the driver reports is watched.
func (s *session) checkPIDs() error {
	for _, pid := range s.PIDs {
		switch s.Alive(pid) {
		case Gone:
			return fmt.Errorf("there is no process %d", pid)
		case Foreign:
			s.note(fmt.Sprintf("process %d belongs to another user; only what the driver reports about it is known", pid))
		}
	}
	return nil
}

// allGone reports whether all processes that the user named have ended.
func (s *session) allGone() bool {
	for _, pid := range s.PIDs {
		if s.Alive(pid) != Gone {
			return false
		}
	}
	return len(s.PIDs) > 0
}

// endedText says that the processes that the user named have ended.
func (s *session) endedText() string {
	if len(s.PIDs) == 1 {
		return fmt.Sprintf("process %d has ended", s.PIDs[0])
	}
	var all []string
	for _, pid := range s.PIDs {
		all = append(all, strconv.Itoa(pid))
	}
	return fmt.Sprintf("processes %s have ended", strings.Join(all, ", "))
}
