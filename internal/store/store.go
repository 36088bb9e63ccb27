// SPDX-License-Identifier: Apache-2.0

// Package store keeps measurements made on this machine, so that later estimates can say how far off similar ones
// were here. It is one SQLite file, which any SQLite tool can open. Nothing in it is sent anywhere.
package store

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// schema is the database schema. Each row is a measured run; bytes and Unix seconds are integers, and an empty string
// or a zero means unknown.
//
//	card          as the catalog names it: H200
//	torch, cuda   versions, without a build suffix: 2.11.0, 13.0
//	family        the model's family in snug, "" for the user's own code
//	model         its name; for the user's own code, the command that ran, with secrets removed
//	size          batch=4,seq=512
//	setup         the setup as JSON, "" if none was given
//	predicted     peak of reserved bytes, estimated without the run
//	allocated     measured peak of allocated bytes
//	reserved      measured peak of reserved bytes
//	step_seconds  median of the steps after the first
//
// user_version is the schema's number; a file with a higher one is refused. Rows are written and read in
// runs.go, and filled in record/remember.go.
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
PRAGMA user_version = 1;` + trialsSchema + jobsSchema + tunesSchema

const version = 1

// Path returns the path of the store: $SNUG_STORE, or a file in the user's data folder. It is empty if there is no
// such folder.
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

// Exists reports whether there is a store to open, or something in its place that is refused. Unlike opening it, this
// costs almost nothing.
func Exists(path string) bool {
	if path == "" {
		return false
	}
	info, err := os.Lstat(path)
	return err == nil && (info.Size() > 0 || !info.Mode().IsRegular())
}

// Store is an open store.
type Store struct {
	db    *sql.DB
	path  string
	empty bool // the file exists but has no schema yet
}

// patience is how long a writer waits for another writer: two runs may end at once.
const patience = 5 * time.Second

// Open opens the store at path for writing, creating it if necessary.
func Open(path string) (*Store, error) {
	if path == "" {
		return nil, errors.New("there is no folder to keep measurements in; set SNUG_STORE to a file")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("creating the folder for the measurement store: %w", err)
	}
	return connect(path, "_txlock=immediate&_pragma=secure_delete(1)", patience, (*Store).prepare)
}

// Read opens an existing store for reading. It waits for another process's write for at most the given time, and
// takes no lock that would block a writer.
func Read(path string, wait time.Duration) (*Store, error) {
	return connect(path, "mode=rw", wait, (*Store).look) // rw: first rolls back what a killed process left unfinished
}

// connect opens the database with the SQLite parameter how, and calls begin on it.
func connect(path, how string, wait time.Duration, begin func(*Store) error) (*Store, error) {
	if err := refuse(path); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("file:%s?%s&_pragma=busy_timeout(%d)", (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath(), how, wait.Milliseconds())
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	s := &Store{db: db, path: path}
	if err := begin(s); err != nil {
		_ = db.Close()
		return nil, failed(path, err)
	}
	return s, nil
}

// maxSize is far larger than any real store: a run takes a kilobyte.
const maxSize = 256 << 20

// refuse returns an error if something else is in the store's place. A link would make snug change a file somewhere
// else.
func refuse(path string) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil // the file does not exist, or SQLite will report what is wrong
	case info.Mode()&os.ModeSymlink != 0:
		to, _ := os.Readlink(path)
		return fmt.Errorf("the measurement store %s is a link to %s; set SNUG_STORE to the file itself", path, to)
	case !info.Mode().IsRegular():
		return fmt.Errorf("the measurement store %s is not a plain file; set SNUG_STORE to one", path)
	case info.Size() > maxSize:
		return fmt.Errorf("the measurement store %s is %d MiB, too large for measurements (at most %d); move it away, or set SNUG_STORE", path, info.Size()>>20, maxSize>>20)
	}
	return nil
}

// prepare creates the schema in a new file, and removes data that must not be stored from an older one.
func (s *Store) prepare() error {
	tx, err := s.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	made, err := isMade(tx)
	switch {
	case err != nil:
		return err
	case made:
		if err = scrub(tx); err == nil {
			_, err = tx.Exec(trialsSchema + jobsSchema + tunesSchema)
		}
	default:
		_, err = tx.Exec(schema)
	}
	if err != nil {
		return err
	}
	return tx.Commit()
}

// look returns an error if the store cannot be read.
func (s *Store) look() error {
	made, err := isMade(s.db)
	s.empty = !made
	return err
}

// isMade reports whether a database has the schema, and returns an error for a newer one or another program's.
func isMade(db interface {
	QueryRow(string, ...any) *sql.Row
}) (bool, error) {
	var have, tables, ours int
	if err := db.QueryRow("PRAGMA user_version").Scan(&have); err != nil {
		return false, err
	}
	if err := db.QueryRow("SELECT count(*), coalesce(sum(name = 'runs'), 0) FROM sqlite_master WHERE type = 'table'").Scan(&tables, &ours); err != nil {
		return false, err
	}
	switch {
	case have == 0 && tables > 0 || have > 0 && tables > 0 && ours == 0:
		return false, errors.New("it is another program's database")
	case have > version:
		return false, fmt.Errorf("it has format %d, but this version of snug reads only up to %d", have, version)
	}
	return have > 0, nil
}

// Close closes the store.
func (s *Store) Close() error { return s.db.Close() }
