// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"snug/internal/redact"
)

// tunesSchema is the table of each tune's current report, which snug tune --json prints at the end. It is updated after
// every decision, so that another process can follow a tune while it runs.
//
//	tune    identifies the tune, as in trials
//	running whether it is unfinished; it stays 1 if the process was killed
//	report  JSON
const tunesSchema = `
CREATE TABLE IF NOT EXISTS tunes (
	tune    TEXT PRIMARY KEY,
	at      INTEGER NOT NULL,
	running INTEGER NOT NULL,
	report  TEXT NOT NULL
);`

// mostTunes is how many reports are kept; the oldest are deleted first. The trials themselves are kept.
const mostTunes = 100

// Tune is the current report of a tune.
type Tune struct {
	ID      string          `json:"id"`      // identifies the tune, as in its trials
	At      int64           `json:"at"`      // time of the newest decision, in seconds since 1970
	Running bool            `json:"running"` // the tune is unfinished, or was killed
	Report  json.RawMessage `json:"report"`  // as snug tune --json prints it
}

// SaveTune stores a tune's report and replaces its earlier one.
func (s *Store) SaveTune(t Tune) error {
	if t.At == 0 {
		t.At = time.Now().Unix()
	}
	if err := t.check(); err != nil {
		return fmt.Errorf("the report of the tune %q is not valid: %w", t.ID, err)
	}
	_, err := s.db.Exec("INSERT INTO tunes (tune, at, running, report) VALUES (?,?,?,?) ON CONFLICT (tune) DO UPDATE SET at = excluded.at, running = excluded.running, report = excluded.report",
		t.ID, t.At, t.Running, redact.Text(string(t.Report)))
	if err == nil {
		_, err = s.db.Exec("DELETE FROM tunes WHERE tune NOT IN (SELECT tune FROM tunes ORDER BY at DESC, rowid DESC LIMIT ?)", mostTunes)
	}
	return failed(s.path, err)
}

// check returns an error if a report has impossible values.
func (t *Tune) check() error {
	switch {
	case t.At <= 0 || t.At >= maxTime:
		return errors.New("\"at\" should be seconds since 1970")
	case t.ID == "":
		return errors.New("its tune is missing")
	case !json.Valid(t.Report):
		return errors.New("it is not JSON")
	case len(t.Report) > maxLine:
		return errors.New("it is too long")
	}
	return nil
}

// Tunes returns the reports of all tunes, the newest first. Rows with impossible values are skipped; their trials are
// stored separately.
func (s *Store) Tunes() ([]Tune, error) {
	if s.empty {
		return nil, nil
	}
	out, err := s.tunes()
	return out, failed(s.path, err)
}

func (s *Store) tunes() ([]Tune, error) {
	var there int
	if err := s.db.QueryRow("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'tunes'").Scan(&there); err != nil || there == 0 {
		return nil, err
	}
	rows, err := s.db.Query("SELECT tune, at, running, report FROM tunes ORDER BY at DESC, rowid DESC")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []Tune
	for rows.Next() {
		var t Tune
		var report string
		if rows.Scan(&t.ID, &t.At, &t.Running, &report) != nil {
			continue
		}
		if t.Report = json.RawMessage(redact.Text(report)); t.check() == nil {
			out = append(out, t)
		}
	}
	return out, rows.Err()
}
