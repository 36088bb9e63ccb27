// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Trials are stored by tune, in the order in which they ended, even in a store from an earlier version.
func TestTrials(t *testing.T) {
	path := filepath.Join(t.TempDir(), "measured.db")
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.Exec("DROP TABLE trials"); err != nil { // as in a store from an earlier version
		t.Fatal(err)
	}
	if got, err := s.Trials(""); err != nil || len(got) > 0 {
		t.Errorf("%v, %v", got, err)
	}
	_ = s.Close()
	if s, err = Open(path); err != nil {
		t.Fatal(err)
	}
	want := []Trial{
		{At: 1_700_000_000, Tune: "a", Command: "python train.py", Settings: "batch=8", Predicted: 5, Outcome: "out-of-memory", Result: json.RawMessage(`{"why":"x"}`)},
		{At: 1_700_000_000, Tune: "a", Command: "python train.py", Settings: "batch=4", Outcome: "ok", Result: json.RawMessage(`{"samples_per_second":7}`)},
		{At: 1_700_000_001, Tune: "b", Command: "other", Settings: "batch=4", Outcome: "ok", Result: json.RawMessage(`{}`)},
	}
	for _, x := range want {
		if err := s.AddTrial(x); err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []Trial{{}, {Tune: "a", Outcome: "ok", Result: json.RawMessage("{")}, {Tune: "a", Outcome: "ok", Predicted: 1 << 50, Result: json.RawMessage("{}")}} {
		if s.AddTrial(bad) == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
	if _, err := s.db.Exec("INSERT INTO trials VALUES (9, 1, 'a', 'x', 'y', 'nonsense', 'ok', '{}')"); err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	r, err := Read(path, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for tune, list := range map[string][]Trial{"": want, "a": want[:2], "b": want[2:], "c": nil} {
		got, err := r.Trials(tune)
		if diff := cmp.Diff(list, got, cmpopts.IgnoreFields(Trial{}, "ID")); diff != "" || err != nil {
			t.Errorf("%q: %v %s", tune, err, diff)
		}
	}
	w, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if n, err := w.DeleteTrials("a"); n != 3 || err != nil {
		t.Errorf("%d deleted, %v", n, err)
	}
}

// A secret in a command is not stored.
func TestTrialsKeepNoSecrets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "measured.db")
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	secret := "hf_abcdefghijklmnopqrstuvwxyzabcdefgh"
	if err := s.AddTrial(Trial{Tune: "a", Command: "train --token " + secret, Outcome: "ok", Result: json.RawMessage(`{"why":"` + secret + `"}`)}); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := s.db.QueryRow("SELECT count(*) FROM trials WHERE command LIKE ? OR result LIKE ?", "%"+secret+"%", "%"+secret+"%").Scan(&n); err != nil || n > 0 {
		t.Errorf("%d rows contain it, %v", n, err)
	}
}

// Only a tune's newest report is kept. It is deleted with the trials, and the table is added to stores of earlier versions.
func TestTunes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "measured.db")
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.Exec("DROP TABLE tunes"); err != nil { // as in a store from an earlier version
		t.Fatal(err)
	}
	if got, err := s.Tunes(); err != nil || len(got) > 0 {
		t.Errorf("%v, %v", got, err)
	}
	_ = s.Close()
	if s, err = Open(path); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	secret := "hf_abcdefghijklmnopqrstuvwxyzabcdefgh"
	for _, x := range []Tune{
		{ID: "a", At: 1_700_000_000, Running: true, Report: json.RawMessage(`{"trials":[]}`)},
		{ID: "b", At: 1_700_000_001, Report: json.RawMessage(`{"command":"train --token ` + secret + `"}`)},
		{ID: "a", At: 1_700_000_002, Report: json.RawMessage(`{"trials":[1]}`)},
	} {
		if err := s.SaveTune(x); err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []Tune{{}, {ID: "a", Report: json.RawMessage("{")}, {ID: "a", At: -1, Report: json.RawMessage("{}")}} {
		if s.SaveTune(bad) == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
	got, err := s.Tunes()
	if err != nil || len(got) != 2 || got[0].ID != "a" || got[0].Running || string(got[0].Report) != `{"trials":[1]}` || strings.Contains(string(got[1].Report), secret) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := s.DeleteTrials(""); err != nil {
		t.Fatal(err)
	}
	if got, _ := s.Tunes(); len(got) > 0 {
		t.Errorf("%+v remains", got)
	}
}

// The oldest reports are dropped.
func TestTunesAreBounded(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "measured.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range mostTunes + 1 {
		if err := s.SaveTune(Tune{ID: fmt.Sprint(i), At: int64(1_700_000_000 + i), Report: json.RawMessage("{}")}); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.Tunes(); err != nil || len(got) != mostTunes || got[len(got)-1].ID != "1" {
		t.Errorf("%d reports, %v", len(got), err)
	}
}
