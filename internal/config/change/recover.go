// SPDX-License-Identifier: Apache-2.0

package change

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// Interrupted says whether a change or its taking back was begun and not
// finished.
func (s *Store) Interrupted() (bool, error) { return s.interrupted() }

func (s *Store) interrupted() (bool, error) {
	if _, err := s.files.Stat(s.revertPath()); err == nil {
		return true, nil
	}
	all, err := s.entries(begun)
	return len(all) > 0, err
}

// Recover deals with what was interrupted: a change that was begun is taken
// back, taking back is finished. It returns the changes that are gone.
func (s *Store) Recover(force bool) ([]*Entry, error) {
	unlock, err := s.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	return s.recover(force)
}

func (s *Store) recover(force bool) ([]*Entry, error) {
	gone, err := s.recoverRevert(force)
	if err != nil {
		return nil, err
	}
	all, err := s.entries(begun)
	if err != nil {
		return gone, err
	}
	for _, e := range slices.Backward(all) {
		if err := s.undo(e, force); err != nil {
			return gone, err
		}
		gone = append(gone, e)
	}
	return gone, nil
}

// recoverRevert goes on with taking back what was being taken back.
func (s *Store) recoverRevert(force bool) (gone []*Entry, err error) {
	data, err := s.files.ReadFile(s.revertPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", s.revertPath(), explain(err))
	}
	var plan reverting
	if err := json.Unmarshal(data, &plan); err != nil || plan.Version != journalVersion {
		return nil, fmt.Errorf("%s is damaged or of another version; restore from the .backup files and remove it", s.revertPath())
	}
	for _, id := range plan.IDs {
		if e, err := s.readEntry(s.entryPath(id, done)); err == nil {
			gone = append(gone, e)
		}
	}
	plan.Force = plan.Force || force
	return gone, s.finishRevert(plan)
}
