// SPDX-License-Identifier: Apache-2.0

package store

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Jobs are stored by tune until they are removed, even in a store that an earlier version created.
func TestJobs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "measured.db")
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.Exec("DROP TABLE jobs"); err != nil { // as in a store from an earlier version
		t.Fatal(err)
	}
	if got, err := s.Jobs("a"); err != nil || len(got) > 0 {
		t.Errorf("%v, %v", got, err)
	}
	_ = s.Close()
	if s, err = Open(path); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	one := Job{Folder: "/shared/snug-run-1", At: 1_700_000_000, Tune: "a", Settings: "batch=8"}
	other := Job{Folder: "/shared/snug-run-2", At: 1_700_000_001, Tune: "b", Settings: "batch=4", Job: "13"}
	for _, j := range []Job{one, other} {
		if err := s.PutJob(j); err != nil {
			t.Fatal(err)
		}
	}
	one.Job = "12"
	if err := s.PutJob(one); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Jobs("a"); err != nil || cmp.Diff([]Job{one}, got) != "" {
		t.Errorf("%v %s", err, cmp.Diff([]Job{one}, got))
	}
	if err := s.RemoveJob(one.Folder); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Jobs("a"); err != nil || len(got) > 0 {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []Job{{}, {Folder: "x", Tune: "a", Settings: "b"}, {Folder: "/x", Settings: "b"}} {
		if s.PutJob(bad) == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}
