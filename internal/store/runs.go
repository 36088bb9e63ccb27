// SPDX-License-Identifier: Apache-2.0

package store

import "time"

// Run is one measured run.
type Run struct {
	ID          int64   `json:"-"`
	At          int64   `json:"at"`
	Card        string  `json:"card"`
	Torch       string  `json:"torch"`
	CUDA        string  `json:"cuda,omitempty"`
	Family      string  `json:"family,omitempty"`
	Model       string  `json:"model"`
	Size        string  `json:"size,omitempty"`
	Setup       string  `json:"setup,omitempty"`
	Predicted   uint64  `json:"predicted,omitempty"`
	Allocated   uint64  `json:"allocated"`
	Reserved    uint64  `json:"reserved"`
	StepSeconds float64 `json:"step_seconds,omitempty"`
}

const columns = "at, card, torch, cuda, family, model, size, setup, predicted, allocated, reserved, step_seconds"

// Add keeps runs: all of them or none.
func (s *Store) Add(runs ...Run) error { return failed(s.path, s.add(runs)) }

func (s *Store) add(runs []Run) error {
	tx, err := s.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	for _, r := range runs {
		if r.At == 0 {
			r.At = time.Now().Unix()
		}
		_, err := tx.Exec("INSERT INTO runs ("+columns+") VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
			r.At, r.Card, r.Torch, r.CUDA, r.Family, r.Model, r.Size, r.Setup, r.Predicted, r.Allocated, r.Reserved, r.StepSeconds)
		if err != nil {
			return err
		}
	}
	return tx.Commit()
}

// List is every run, the latest last.
func (s *Store) List() ([]Run, error) { return s.query("ORDER BY at, id") }

func (s *Store) query(rest string, args ...any) ([]Run, error) {
	out, err := s.rows(rest, args...)
	return out, failed(s.path, err)
}

func (s *Store) rows(rest string, args ...any) ([]Run, error) {
	rows, err := s.db.Query("SELECT id, "+columns+" FROM runs "+rest, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []Run
	for rows.Next() {
		var r Run
		if err := rows.Scan(&r.ID, &r.At, &r.Card, &r.Torch, &r.CUDA, &r.Family, &r.Model, &r.Size, &r.Setup,
			&r.Predicted, &r.Allocated, &r.Reserved, &r.StepSeconds); err != nil {
			return nil, errDamaged // the schema allows none of what cannot be read
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// Delete removes the runs with these numbers, and says how many there were.
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
