// SPDX-License-Identifier: Apache-2.0

// Package store keeps what was measured on this machine, so that the next
// estimate can say how far off its like have been here. It is one SQLite file;
// any SQLite tool opens it, and nothing in it goes anywhere else.
package store

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
)

// schema is the database. A measured run is a row; bytes and Unix seconds are
// integers, an empty text or a zero is unknown.
//
//	card          as the catalogue names it: H200
//	torch, cuda   versions, without a build suffix: 2.11.0, 13.0
//	family        the model's family in snug, "" for code of the user's own
//	model         its name, or the command that ran, its script from the root
//	size          batch=4,seq=512
//	setup         the setup as JSON, "" where none was given
//	predicted     peak of reserved bytes, said before or without the run
//	allocated     measured peak of allocated bytes
//	reserved      measured peak of reserved bytes
//	step_seconds  median of the steps after the first
//
// user_version is the schema's number; a file with a higher one is refused.
const schema = `
CREATE TABLE runs (
	id           INTEGER PRIMARY KEY,
	at           INTEGER NOT NULL,
	card         TEXT NOT NULL,
	torch        TEXT NOT NULL,
	cuda         TEXT NOT NULL,
	family       TEXT NOT NULL,
	model        TEXT NOT NULL,
	size         TEXT NOT NULL,
	setup        TEXT NOT NULL,
	predicted    INTEGER NOT NULL,
	allocated    INTEGER NOT NULL,
	reserved     INTEGER NOT NULL,
	step_seconds REAL NOT NULL
);
CREATE INDEX runs_alike ON runs (card, torch, family);
PRAGMA user_version = 1;`

const version = 1

// Path is where the store is: $SNUG_STORE, or the user's folder for data. It is
// empty where there is no such folder.
func Path(getenv func(string) string) string {
	if p := getenv("SNUG_STORE"); p != "" {
		return p
	}
	for _, place := range []struct{ variable, below string }{
		{"XDG_DATA_HOME", ""}, {"LOCALAPPDATA", ""}, {"HOME", ".local/share"},
	} {
		if dir := getenv(place.variable); filepath.IsAbs(dir) {
			return filepath.Join(dir, place.below, "snug", "measured.db")
		}
	}
	return ""
}

// Exists says whether there is a store to open, or something in its place that
// Open refuses. It costs next to nothing, which opening one does not.
func Exists(path string) bool {
	info, err := os.Stat(path)
	return path != "" && err == nil && (info.Size() > 0 || !info.Mode().IsRegular())
}

// Store is an open store.
type Store struct {
	db   *sql.DB
	path string
}

// Open opens the store at path and makes it where there is none.
func Open(path string) (*Store, error) {
	if path == "" {
		return nil, errors.New("there is no folder to keep measurements in; set SNUG_STORE to a file")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of the store of measurements: %w", err)
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("the store of measurements %s is not a plain file; set SNUG_STORE to one", path)
	}
	// Two runs may end at once: the second waits for the first.
	name := "file:" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath() + "?_pragma=busy_timeout(5000)&_txlock=immediate"
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	s := &Store{db, path}
	if err := s.prepare(); err != nil {
		_ = db.Close()
		return nil, failed(path, err)
	}
	return s, nil
}

// prepare makes the schema in a new file, and refuses a newer one or another
// program's.
func (s *Store) prepare() error {
	tx, err := s.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	var have, tables, ours int
	if err := tx.QueryRow("PRAGMA user_version").Scan(&have); err != nil {
		return err
	}
	if err := tx.QueryRow("SELECT count(*), coalesce(sum(name = 'runs'), 0) FROM sqlite_master WHERE type = 'table'").Scan(&tables, &ours); err != nil {
		return err
	}
	switch {
	case have == 0 && tables > 0 || have > 0 && tables > 0 && ours == 0:
		return errors.New("it is a database of another program")
	case have > version:
		return fmt.Errorf("it has format %d and this snug reads up to %d", have, version)
	case have == 0:
		if _, err := tx.Exec(schema); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// Close closes the store.
func (s *Store) Close() error { return s.db.Close() }
