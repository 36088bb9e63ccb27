// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// jobsSchema is the table of unfinished trials that run as jobs on a cluster. Jobs outlive the snug process that
// submitted them; the next process finds them here. The table is added to stores of earlier versions, like the table
// of trials.
//
//	tune      identifies the tune, as for trials
//	settings  batch=8,accumulation=4
//	folder    the run's folder, which the job writes its reports to
//	job       its ID; "" before it is submitted
const jobsSchema = `
CREATE TABLE IF NOT EXISTS jobs (
	folder    TEXT PRIMARY KEY,
	at        INTEGER NOT NULL,
	tune      TEXT NOT NULL,
	settings  TEXT NOT NULL,
	job       TEXT NOT NULL
);`

// Job is a trial that runs as a job on a cluster.
type Job struct {
	Folder   string // the run's folder, an absolute path
	At       int64  // seconds since 1970
	Tune     string // which tune it belongs to
	Settings string // such as "accumulation=4,batch=8"
	Job      string // its ID; "" before it is submitted
}

// PutJob stores a job, or replaces it if it is already stored.
func (s *Store) PutJob(j Job) error {
	if j.At == 0 {
		j.At = time.Now().Unix()
	}
	if err := j.check(); err != nil {
		return fmt.Errorf("the job in %q is not valid: %w", j.Folder, err)
	}
	_, err := s.db.Exec("INSERT OR REPLACE INTO jobs (folder, at, tune, settings, job) VALUES (?,?,?,?,?)", j.Folder, j.At, j.Tune, j.Settings, j.Job)
	return failed(s.path, err)
}

// check returns an error if a job has impossible values.
func (j *Job) check() error {
	switch {
	case !filepath.IsAbs(j.Folder):
		return errors.New("its folder should be an absolute path")
	case j.At <= 0 || j.At >= maxTime:
		return errors.New("its time should be seconds since 1970")
	case j.Tune == "" || j.Settings == "":
		return errors.New("its tune or its settings are missing")
	case len(j.Folder)+len(j.Settings)+len(j.Job) > maxLine:
		return errors.New("it is too long")
	}
	return nil
}

// Jobs returns a tune's jobs, the oldest first. Rows with impossible values are skipped.
func (s *Store) Jobs(tune string) ([]Job, error) {
	if s.empty {
		return nil, nil
	}
	var there int
	if err := s.db.QueryRow("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'jobs'").Scan(&there); err != nil || there == 0 {
		return nil, failed(s.path, err)
	}
	rows, err := s.db.Query("SELECT folder, at, tune, settings, job FROM jobs WHERE tune = ? ORDER BY at, folder", tune)
	if err != nil {
		return nil, failed(s.path, err)
	}
	defer rows.Close()
	var out []Job
	for rows.Next() {
		var j Job
		if rows.Scan(&j.Folder, &j.At, &j.Tune, &j.Settings, &j.Job) == nil && j.check() == nil {
			out = append(out, j)
		}
	}
	return out, failed(s.path, rows.Err())
}

// RemoveJob removes a finished job.
func (s *Store) RemoveJob(folder string) error {
	_, err := s.db.Exec("DELETE FROM jobs WHERE folder = ?", folder)
	return failed(s.path, err)
}
