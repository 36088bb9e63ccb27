// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func open(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func sample(reserved uint64) Run {
	return Run{
		At: 1700000000, Card: "H200", Torch: "2.11.0", CUDA: "13.0", Family: "llama", Model: "llama-160m", Size: "batch=2",
		Setup: `{"batch":2}`, Predicted: 1000, Allocated: 900, Reserved: reserved, StepSeconds: 0.25,
	}
}

func TestRoundTrip(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "a ?b", "m.db"))
	want := []Run{sample(1000), sample(1100)}
	if err := s.Add(want...); err != nil {
		t.Fatal(err)
	}
	got, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	want[0].ID, want[1].ID = 1, 2
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	var file bytes.Buffer
	if err := s.Export(&file); err != nil {
		t.Fatal(err)
	}
	other := open(t, filepath.Join(t.TempDir(), "n.db"))
	for i, added := range []int{2, 0} { // the second time there is nothing new
		runs, err := ReadExport(bytes.NewReader(file.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		n, err := other.Import(runs)
		if err != nil || n != added {
			t.Errorf("import %d: %d, %v", i, n, err)
		}
	}
	if n, err := s.Delete(1, 7); n != 1 || err != nil {
		t.Errorf("deleted %d, %v", n, err)
	}
	if got, _ = s.List(); len(got) != 1 {
		t.Errorf("%d runs left", len(got))
	}
}

func TestAlike(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "m.db"))
	for _, reserved := range []uint64{1000, 1020} {
		if err := s.Add(sample(reserved)); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok, _ := s.Alike("H200", "2.11.0", "llama"); ok {
		t.Error("two runs should not be enough")
	}
	third, other := sample(990), sample(5000)
	third.Torch, other.Torch = "2.11.1", "2.10.0"
	if err := s.Add(third, other); err != nil {
		t.Fatal(err)
	}
	r, ok, err := s.Alike("H200", "2.11.0", "llama")
	if err != nil || !ok || r.Cases != 3 || !near(r.Low, -0.01) || !near(r.High, 0.02) {
		t.Errorf("%+v %v %v", r, ok, err)
	}
	for _, x := range [][3]string{{"A100", "2.11", "llama"}, {"H200", "2.11", "gpt2"}, {"H200", "2.9", "llama"}, {"H200", "2.11", ""}} {
		if r, ok, _ := s.Alike(x[0], x[1], x[2]); ok {
			t.Errorf("%v: %+v", x, r)
		}
	}
}

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

func TestRefused(t *testing.T) {
	dir := t.TempDir()
	junk := filepath.Join(dir, "junk.db")
	if err := os.WriteFile(junk, []byte(strings.Repeat("this is no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	newer := filepath.Join(dir, "newer.db")
	db, err := sql.Open("sqlite", newer)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	_ = db.Close()
	foreign := filepath.Join(dir, "foreign.db")
	if db, err = sql.Open("sqlite", foreign); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE bookmarks (url TEXT)"); err != nil {
		t.Fatal(err)
	}
	_ = db.Close()
	for path, want := range map[string]string{junk: "not a database", newer: "format 99", foreign: "another program", "": "SNUG_STORE", dir: "plain file"} {
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func TestReadExportBad(t *testing.T) {
	good := `{"at":1,"card":"A","torch":"2.11","model":"m","allocated":1,"reserved":2}` + "\n"
	for text, want := range map[string]string{
		good + "{":                           "line 2",
		good + `{"at":1,"reserved":2,"x":1}`: "unknown field",
		`{"at":1,"reserved":-2}`:             "line 1",
		`{"at":0,"reserved":2}`:              "since 1970",
		`[]`:                                 "line 1: it must be one run, like {...}, not of type array",
		`{"at":"x"}`:                         `line 1: "at" cannot be of type string`,
		good + "\n" + `{"at":1`:              "line 3: it ends within a run",
		strings.Repeat(" ", maxLine+1):       "line 1: it is too long for a run",
	} {
		if _, err := ReadExport(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: %v", text, err)
		}
	}
	if runs, err := ReadExport(strings.NewReader(`{"id":7,` + good[1:])); err != nil || len(runs) != 1 || runs[0].ID != 0 {
		t.Errorf("what snug history --json prints: %+v, %v", runs, err)
	}
}

// Later errors name the file too.
func TestFailures(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.db")
	s := open(t, path)
	if err := s.Add(sample(1000)); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ do, want string }{
		{"PRAGMA query_only = 1", path + " is read-only"},
		{"PRAGMA query_only = 0; PRAGMA writable_schema = 1; UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', ''); PRAGMA writable_schema = RESET; UPDATE runs SET at = NULL",
			path + " cannot be used as the measurement store: it is damaged"},
	} {
		if _, err := s.db.Exec(x.do); err != nil {
			t.Fatal(err)
		}
		err := s.Add(sample(1))
		if err == nil {
			_, err = s.List()
		}
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v", x.do, err)
		}
	}
}

// Several processes may measure at the same time.
func TestTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.db")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s, err := Open(path)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			if err := s.Add(sample(1000)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if runs, err := open(t, path).List(); err != nil || len(runs) != 8 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}

func TestPath(t *testing.T) {
	for _, x := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"SNUG_STORE": "x.db", "HOME": "/home/a"}, "x.db"},
		{map[string]string{"HOME": "/home/a"}, "/home/a/.local/share/snug/measured.db"},
		{map[string]string{"HOME": "/home/a", "XDG_DATA_HOME": "/d"}, "/d/snug/measured.db"},
		{nil, ""},
	} {
		if got := filepath.ToSlash(Path(func(k string) string { return x.env[k] })); got != x.want {
			t.Errorf("%v: %q", x.env, got)
		}
	}
	if Exists(filepath.Join(t.TempDir(), "none")) || Exists("") {
		t.Error("there is no store")
	}
}

func FuzzReadExport(f *testing.F) {
	f.Add([]byte(`{"at":1,"card":"A","torch":"2.11","model":"m","allocated":1,"reserved":2}`))
	f.Add([]byte("{\n\n[1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		runs, err := ReadExport(bytes.NewReader(text))
		for _, r := range runs {
			if err == nil && r.check() != nil {
				t.Errorf("%+v got through", r)
			}
		}
	})
}

func BenchmarkAdd(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "m.db"))
	for b.Loop() {
		if err := s.Add(sample(1000)); err != nil {
			b.Fatal(err)
		}
	}
}
