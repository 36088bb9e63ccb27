// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"snug/internal/store"
)

// An estimate does not wait for a store that another process has locked, and ignores impossible measurements.
func TestEstimateBesideStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.db")
	estimate := func() (string, time.Duration) {
		var out, errs strings.Builder
		env := Env{Stdout: &out, Stderr: &errs, Getenv: func(name string) string {
			return map[string]string{"LANG": "C.UTF-8", "SNUG_STORE": path}[name]
		}}
		began := time.Now()
		if code := Run(context.Background(), env, strings.Fields("estimate --model llama-3.2-1b --batch 1 --seq 128 --torch 2.11.0 --gpu H200 --json")); code != exitDone || errs.Len() > 0 {
			t.Fatalf("exit code %d: %s", code, errs.String())
		}
		return out.String(), time.Since(began)
	}
	without, _ := estimate()
	s, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	add := func(predicted, reserved uint64) {
		if err := s.Add(store.Run{Card: "H200", Torch: "2.11.0", Family: "llama", Model: "m", Predicted: predicted, Reserved: reserved}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		add(1<<30, 1<<30+1<<28)
	}
	with, _ := estimate()
	if with == without {
		t.Fatal("the measurements make no difference")
	}
	add(1, 1<<42)
	add(1<<42, 1)
	if got, _ := estimate(); got != with {
		t.Errorf("with impossible measurements it is\n%swas\n%s", got, with)
	}
	lock, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close() //nolint:errcheck // the test is over by then
	lock.SetMaxOpenConns(1)
	if _, err := lock.Exec("BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
	got, took := estimate()
	if got != without {
		t.Errorf("with a locked store it prints\n%swithout a store\n%s", got, without)
	}
	if took > 4*time.Second { // a writer would wait for five seconds
		t.Errorf("it waited %v for the store", took)
	}
}
