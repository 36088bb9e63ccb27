// SPDX-License-Identifier: Apache-2.0

package change

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"snug/internal/files"
)

// Interrupted reports whether a change or a revert was started here and not finished.
func (s *Store) Interrupted() (bool, error) {
	l, err := s.list()
	return err == nil && s.interrupted(l), err
}

func (s *Store) interrupted(l listing) bool {
	plan, err := s.readReverting()
	return plan != nil || err != nil || len(l.own[begun]) > 0
}

// Recover reverts an unfinished change and completes an unfinished revert. It returns the changes that were
// reverted.
func (s *Store) Recover(force bool) ([]*Entry, error) {
	release, err := s.lock()
	if err != nil {
		return nil, err
	}
	defer s.leave(release)
	return s.recover(force)
}

func (s *Store) recover(force bool) ([]*Entry, error) {
	gone, err := s.recoverRevert(force)
	if err != nil {
		return nil, err
	}
	l, err := s.list()
	if err != nil {
		return gone, err
	}
	for _, e := range slices.Backward(l.own[begun]) {
		if err := s.undo(e, force); err != nil {
			return gone, err
		}
		gone = append(gone, e)
	}
	return gone, nil
}

// recoverRevert continues a revert that was interrupted.
func (s *Store) recoverRevert(force bool) ([]*Entry, error) {
	plan, err := s.readReverting()
	if err != nil || plan == nil {
		return nil, err
	}
	l, err := s.list()
	if err != nil {
		return nil, err
	}
	var left []*Entry
	for _, id := range plan.IDs {
		if i := slices.IndexFunc(l.own[done], func(e *Entry) bool { return e.ID == id }); i >= 0 {
			left = append(left, l.own[done][i])
		}
	}
	return left, s.finishRevert(left, force)
}

// readReverting returns the revert that was in progress here, or nil.
func (s *Store) readReverting() (*reverting, error) {
	info, err := s.folder.Lstat(revertName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = files.Regular(info)
	}
	var data []byte
	if err == nil {
		data, err = s.folder.ReadFile(revertName)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", s.at(revertName), explain(err))
	}
	var plan reverting
	if err := json.Unmarshal(data, &plan); err != nil {
		return nil, s.damaged(revertName, err)
	}
	if plan.Version != journalVersion || !s.owns(&plan) {
		return nil, nil // it belongs to another machine or folder
	}
	return &plan, nil
}
