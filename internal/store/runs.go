// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"time"
)

// Run is one measured run.
type Run struct {
	ID          int64   `json:"-"`                      // the row in the store
	At          int64   `json:"at"`                     // seconds since 1970
	Card        string  `json:"card"`                   // name in the catalog, or else the driver's name
	Torch       string  `json:"torch"`                  // PyTorch release
	CUDA        string  `json:"cuda,omitempty"`         // CUDA release
	Family      string  `json:"family,omitempty"`       // the model's family
	Model       string  `json:"model"`                  // the model's name, or the command that ran
	Size        string  `json:"size,omitempty"`         // such as "batch=2,seq=128"
	Setup       string  `json:"setup,omitempty"`        // the setup as JSON
	Predicted   uint64  `json:"predicted,omitempty"`    // reserved bytes; 0 if there was no estimate
	Allocated   uint64  `json:"allocated"`              // peak, in bytes
	Reserved    uint64  `json:"reserved"`               // peak, in bytes
	StepSeconds float64 `json:"step_seconds,omitempty"` // median of the steps after the first
}

const columns = "at, card, torch, cuda, family, model, size, setup, predicted, allocated, reserved, step_seconds"

// Add stores runs: all of them or none.
func (s *Store) Add(runs ...Run) error {
	for i := range runs {
		if runs[i].At == 0 {
			runs[i].At = time.Now().Unix()
		}
		if err := runs[i].check(); err != nil {
			return fmt.Errorf("the run at %q is not a valid measurement: %w", runs[i].Size, err)
		}
	}
	return failed(s.path, s.add(runs))
}

func (s *Store) add(runs []Run) error {
	tx, err := s.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	for _, r := range runs {
		r = r.redacted()
		_, err := tx.Exec("INSERT INTO runs ("+columns+") VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
			r.At, r.Card, r.Torch, r.CUDA, r.Family, r.Model, r.Size, r.Setup, r.Predicted, r.Allocated, r.Reserved, r.StepSeconds)
		if err != nil {
			return err
		}
	}
	return tx.Commit()
}

// List returns every run, the latest last. If a run has impossible values, the error names it.
func (s *Store) List() ([]Run, error) {
	if s.empty {
		return nil, nil
	}
	out, err := s.rows()
	var wrong *wrongRow
	if errors.As(err, &wrong) {
		return nil, fmt.Errorf("the measurement store %s: %w", s.path, wrong)
	}
	return out, failed(s.path, err)
}

func (s *Store) rows() ([]Run, error) {
	rows, err := s.db.Query("SELECT id, " + columns + " FROM runs ORDER BY at, id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []Run
	for rows.Next() {
		r, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// IDs returns the IDs of all runs, even invalid ones.
func (s *Store) IDs() ([]int64, error) {
	if s.empty {
		return nil, nil
	}
	out, err := s.ids()
	return out, failed(s.path, err)
}

func (s *Store) ids() ([]int64, error) {
	rows, err := s.db.Query("SELECT id FROM runs ORDER BY id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, errDamaged
		}
		out = append(out, id)
	}
	return out, rows.Err()
}

// Delete removes the runs with these IDs, and returns how many there were.
func (s *Store) Delete(ids ...int64) (int, error) {
	n, err := s.remove(ids)
	return n, failed(s.path, err)
}

func (s *Store) remove(ids []int64) (int, error) {
	tx, err := s.db.Begin()
	if err != nil {
		return 0, err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	n := 0
	for _, id := range ids {
		done, err := tx.Exec("DELETE FROM runs WHERE id = ?", id)
		if err != nil {
			return 0, err
		}
		k, _ := done.RowsAffected()
		n += int(k)
	}
	return n, tx.Commit()
}
