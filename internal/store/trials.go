// SPDX-License-Identifier: Apache-2.0

package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"snug/internal/redact"
)

// trialsSchema is the table of snug tune's trials, whatever their outcome; those that fit are runs too. A store that
// was created by an earlier version gets the table when it is next written, and that version can still read the rest.
//
//	tune      identifies the tune: the same command, files, effective batch and limit
//	command   the tuned command, without its secrets
//	settings  batch=8,accumulation=4
//	predicted peak of reserved bytes, 0 if there was no prediction
//	outcome   ok, out-of-memory, crashed, hung
//	result    the result, as JSON
const trialsSchema = `
CREATE TABLE IF NOT EXISTS trials (
	id        INTEGER PRIMARY KEY,
	at        INTEGER NOT NULL,
	tune      TEXT NOT NULL,
	command   TEXT NOT NULL,
	settings  TEXT NOT NULL,
	predicted INTEGER NOT NULL,
	outcome   TEXT NOT NULL,
	result    TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS trials_tune ON trials (tune);`

// Trial is one trial of a tune.
type Trial struct {
	ID        int64           `json:"id"`                  // the row in the store
	At        int64           `json:"at"`                  // seconds since 1970
	Tune      string          `json:"tune"`                // which tune it belongs to
	Command   string          `json:"command"`             // the tuned command
	Settings  string          `json:"settings"`            // such as "accumulation=4,batch=8"
	Predicted uint64          `json:"predicted,omitempty"` // reserved bytes; 0 if there was no prediction
	Outcome   string          `json:"outcome"`             // how it ended
	Result    json.RawMessage `json:"result"`              // the result as JSON
}

// AddTrial stores a trial.
func (s *Store) AddTrial(t Trial) error {
	if t.At == 0 {
		t.At = time.Now().Unix()
	}
	if err := t.check(); err != nil {
		return fmt.Errorf("the trial at %q is not valid: %w", t.Settings, err)
	}
	_, err := s.db.Exec("INSERT INTO trials (at, tune, command, settings, predicted, outcome, result) VALUES (?,?,?,?,?,?,?)",
		t.At, t.Tune, redact.Text(t.Command), redact.Text(t.Settings), t.Predicted, t.Outcome, redact.Text(string(t.Result)))
	return failed(s.path, err)
}

// check returns an error if a trial has impossible values.
func (t *Trial) check() error {
	switch {
	case t.At <= 0 || t.At >= maxTime:
		return errors.New("\"at\" should be seconds since 1970")
	case t.Predicted >= maxBytes:
		return errors.New("\"predicted\" should be a GPU memory size in bytes")
	case t.Tune == "" || t.Outcome == "":
		return errors.New("its tune or its outcome is missing")
	case !json.Valid(t.Result):
		return errors.New("its result is not JSON")
	case len(t.Command)+len(t.Settings)+len(t.Result) > maxLine:
		return errors.New("it is too long for a trial")
	}
	return nil
}

// Trials returns the trials of a tune, or of all tunes if it is "", the latest last. It omits rows with impossible
// values, because a trial can be repeated.
func (s *Store) Trials(tune string) ([]Trial, error) {
	if s.empty {
		return nil, nil
	}
	out, err := s.trials(tune)
	return out, failed(s.path, err)
}

func (s *Store) trials(tune string) ([]Trial, error) {
	var there int
	if err := s.db.QueryRow("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'trials'").Scan(&there); err != nil || there == 0 {
		return nil, err
	}
	rows, err := s.db.Query("SELECT id, at, tune, command, settings, predicted, outcome, result FROM trials WHERE ? IN ('', tune) ORDER BY id", tune)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []Trial
	for rows.Next() {
		if t, ok := scanTrial(rows); ok {
			out = append(out, t)
		}
	}
	return out, rows.Err()
}

// scanTrial returns the trial in a row; ok is false if its values are impossible.
func scanTrial(rows *sql.Rows) (t Trial, ok bool) {
	var result string
	if err := rows.Scan(&t.ID, &t.At, &t.Tune, &t.Command, &t.Settings, &t.Predicted, &t.Outcome, &result); err != nil {
		return t, false
	}
	t.Result = json.RawMessage(result)
	t.Command = redact.Text(t.Command)
	return t, t.check() == nil
}

// DeleteTrials removes the trials of a tune, or of all tunes if it is "", and returns how many there were.
func (s *Store) DeleteTrials(tune string) (int, error) {
	if _, err := s.db.Exec("DELETE FROM tunes WHERE ? IN ('', tune)", tune); err != nil {
		return 0, failed(s.path, err)
	}
	done, err := s.db.Exec("DELETE FROM trials WHERE ? IN ('', tune)", tune)
	if err != nil {
		return 0, failed(s.path, err)
	}
	n, _ := done.RowsAffected()
	return int(n), nil
}
