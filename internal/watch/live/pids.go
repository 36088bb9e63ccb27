// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"snug/internal/watch"
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

// rank is a process of the command that reports steps.
type rank struct {
	name string  // for people
	gone float64 // when it was first seen to have ended; 0 if it has not
	told bool
}

// report passes on what a process of the command reports.
func (s *session) report(e watch.Event) {
	if s.ranks == nil {
		s.ranks = map[int]*rank{}
	}
	if s.ranks[e.PID] == nil && e.PID > 0 {
		s.ranks[e.PID] = &rank{name: fmt.Sprintf("process %d", e.PID)}
	}
	if x := s.ranks[e.PID]; x != nil && e.Rank != nil {
		x.name = fmt.Sprintf("rank %d (process %d)", *e.Rank, e.PID)
	}
	s.send(e)
}

// alone is how many seconds the other processes must outlive one before that is reported: at the end of a run, they end one after
// the other.
const alone = 5

// checkRanks reports processes that have ended while others go on, which then usually wait for them forever.
func (s *session) checkRanks() {
	going := 0
	for pid, x := range s.ranks {
		switch {
		case s.Alive(pid) != Gone:
			going++
		case x.gone == 0:
			x.gone = max(s.last, 1e-9)
		}
	}
	for _, pid := range slices.Sorted(maps.Keys(s.ranks)) {
		if x := s.ranks[pid]; going > 0 && x.gone > 0 && !x.told && s.last >= x.gone+alone {
			x.told = true
			s.note(fmt.Sprintf("%s has ended, but %s", x.name, others(going)))
		}
	}
}

func others(going int) string {
	if going == 1 {
		return "another one goes on"
	}
	return fmt.Sprintf("%d others go on", going)
}
