// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strings"

	"snug/internal/simulate"
)

// dropped is a candidate that was left out because the script cannot be followed with its settings.
type dropped struct {
	settings
	why error
}

// drops reports whether a search goes on without settings that cannot be simulated: a script may be impossible to
// follow with a candidate's settings, although it is followed with the current ones. The plan names the first of them.
func (s *search) drops(x settings, err error) bool {
	if x == s.today || !simulate.Follows(s.base) || s.ctx.Err() != nil {
		return false
	}
	s.refuse(x)
	s.learned.mu.Lock()
	defer s.learned.mu.Unlock()
	s.learned.dropped = append(s.learned.dropped, dropped{x, err})
	return true
}

// tried is timed for a candidate that may be dropped. ok is false if it was.
func (s *search) tried(x settings) (c candidate, ok bool, err error) {
	if c, err = s.timed(x); err != nil && s.drops(x, err) {
		return c, false, nil
	}
	return c, err == nil, err
}

// droppedNotes returns a note on the settings that were left out of the search.
func (s *search) droppedNotes() []string {
	s.learned.mu.Lock()
	defer s.learned.mu.Unlock()
	if len(s.learned.dropped) == 0 {
		return nil
	}
	first := s.learned.dropped[0]
	why, _, _ := strings.Cut(first.why.Error(), ";") // without advice on how to simulate the run otherwise
	return []string{fmt.Sprintf("Left out: %s, because the script cannot be followed with these settings (%v).", product(first.settings), why)}
}
