// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// raw returns the underlying database.
func raw(t testing.TB, path string, do ...string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	for _, x := range do {
		if _, err := db.Exec(x); err != nil {
			t.Fatalf("%s: %v", x, err)
		}
	}
	return db
}

// A reader neither waits long for a writer nor blocks it.
func TestReadDoesNotWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.db")
	writer := open(t, path)
	if err := writer.Add(sample(1000), sample(1010), sample(1020)); err != nil {
		t.Fatal(err)
	}
	reader, err := Read(path, 25*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	var wait int
	if err := reader.db.QueryRow("PRAGMA busy_timeout").Scan(&wait); err != nil || wait != 25 {
		t.Errorf("it waits %d ms, %v", wait, err)
	}
	if _, ok, err := reader.Alike("H200", "2.11.0", "llama"); !ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	if err := writer.Add(sample(1030)); err != nil {
		t.Errorf("beside a reader: %v", err)
	}
	lock := raw(t, path, "BEGIN EXCLUSIVE")
	if _, _, err := reader.Alike("H200", "2.11.0", "llama"); err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Errorf("locked: %v", err)
	}
	if _, err := Read(path, time.Millisecond); err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Errorf("locked: %v", err)
	}
	if _, err := lock.Exec("ROLLBACK; BEGIN IMMEDIATE"); err != nil { // another process is about to write
		t.Fatal(err)
	}
	if r, ok, err := reader.Alike("H200", "2.11.0", "llama"); !ok || err != nil || r.Cases != 4 {
		t.Errorf("%+v, %v, %v", r, ok, err)
	}
}

// Anything else in the store's place is refused, for reading and for writing, and stays unchanged.
func TestPlace(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	huge, target, link, dangling := at("huge.db"), at("target.db"), at("link.db"), at("dangling.db")
	_ = open(t, target).Close()
	for _, err := range []error{os.WriteFile(huge, nil, 0o600), os.Truncate(huge, maxSize+1), os.Symlink(target, link), os.Symlink(at("nowhere"), dangling)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{huge: "too large for measurements", link: "is a link to " + target, dangling: "is a link to ", dir: "not a plain file"} {
		if !Exists(path) {
			t.Errorf("%s: nothing was written", path)
		}
		_, write := Open(path)
		_, read := Read(path, time.Millisecond)
		for _, err := range []error{write, read} {
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	if _, err := os.Stat(at("nowhere")); err == nil {
		t.Error("a link was followed")
	}
}

// A store that is read-only can still be read.
func TestReadOnly(t *testing.T) {
	if os.Getuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("permissions do not hold for this user")
	}
	path := filepath.Join(t.TempDir(), "m.db")
	if err := open(t, path).Add(sample(1000)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	s, err := Read(path, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if runs, err := s.List(); err != nil || len(runs) != 1 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}

// Impossible rows do not affect intervals; listing the store names the row, and it can be deleted.
func TestNonsenseRows(t *testing.T) {
	for set, why := range map[string]string{
		"reserved = -5":                  "-5 is not a number of bytes",
		"predicted = -1":                 "-1 is not a number of bytes",
		"reserved = 9223372036854775807": "should be GPU memory sizes in bytes",
		"reserved = 1e30":                "1e+30 is not a number of bytes",
		"reserved = 'lots'":              "lots is not a number of bytes",
		"predicted = 1 << 60":            "should be GPU memory sizes in bytes",
		"step_seconds = 9e999":           "duration of a step",
		"step_seconds = -1":              "is negative",
		"step_seconds = 'NaN'":           "NaN is not a valid step time",
		"at = -1":                        "since 1970",
		"at = 'x'":                       "since 1970",
		"model = zeroblob(2000000)":      "too long for a run",
		"predicted = 1":                  "",
		"reserved = 1":                   "",
	} {
		t.Run(set, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "m.db")
			s := open(t, path)
			if err := s.Add(sample(1000), sample(1010), sample(1020), sample(1005)); err != nil {
				t.Fatal(err)
			}
			if _, err := s.db.Exec("UPDATE runs SET " + set + " WHERE id = 4"); err != nil {
				t.Fatal(err)
			}
			r, ok, err := s.Alike("H200", "2.11.0", "llama")
			if err != nil || !ok || r.Cases < 3 || r.Low < -0.001 || r.High > 0.021 {
				t.Errorf("%+v, %v, %v", r, ok, err)
			}
			_, err = s.List()
			if why == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), "run 4:") || !strings.Contains(err.Error(), "snug history delete 4") {
				t.Errorf("listing: %v", err)
			}
			if ids, err := s.IDs(); err != nil || len(ids) != 4 {
				t.Errorf("numbers %v, %v", ids, err)
			}
			if n, err := s.Delete(4); n != 1 || err != nil {
				t.Errorf("deleting: %d, %v", n, err)
			}
			if runs, err := s.List(); err != nil || len(runs) != 3 {
				t.Errorf("%d runs, %v", len(runs), err)
			}
		})
	}
}

// Impossible measurements are refused, whether measured here or imported.
func TestNonsenseIsNotTaken(t *testing.T) {
	const line = `{"at":1,"card":"A","torch":"2.11","model":"m","allocated":1,"reserved":%s,"step_seconds":%s}` + "\n"
	for _, x := range []struct{ reserved, seconds, want string }{
		{"1e30", "0", `line 2: "reserved" cannot be of type number`},
		{"-1", "0", `line 2: "reserved" cannot be of type number`},
		{"NaN", "0", "line 2: invalid character"},
		{"18446744073709551615", "0", "line 2: \"reserved\", \"allocated\" and \"predicted\" should be GPU memory sizes in bytes"},
		{"1125899906842623", "0", "line 2: "},
		{"18446744073709551616", "0", `line 2: "reserved" cannot be of type number`},
		{"1", "1e300", `line 2: "step_seconds" should be the duration of a step`},
		{"1", "1e999", `line 2: "step_seconds" cannot be of type number`},
		{"1", "-1", `line 2: "step_seconds" is negative`},
	} {
		_, err := ReadExport(strings.NewReader(fmt.Sprintf(line, "2", "1") + fmt.Sprintf(line, x.reserved, x.seconds)))
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s, %s: %v", x.reserved, x.seconds, err)
		}
	}
	s := open(t, filepath.Join(t.TempDir(), "m.db"))
	if err := s.Add(sample(1), sample(1<<62)); err == nil {
		t.Error("it was added")
	}
	if runs, err := s.List(); err != nil || len(runs) > 0 {
		t.Errorf("%v, %v", runs, err)
	}
}

// Secrets are neither stored nor shown, and are removed from rows that already have them.
func TestSecrets(t *testing.T) {
	const secret = "Zx9Qw7Lm5"
	path := filepath.Join(t.TempDir(), "m.db")
	s := open(t, path)
	told := sample(1000)
	told.Family, told.Model, told.Setup = "", "python /a/t.py --hf_token "+secret+" --lr 3", `{"id":"https://me:`+secret+`@host/x"}`
	brought, err := ReadExport(strings.NewReader(`{"at":1,"card":"A","torch":"2.11","model":"WANDB_API_KEY=` + secret + ` python t.py","allocated":1,"reserved":2}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Add(told); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Import(brought); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	without := func(when string, text []byte) {
		t.Helper()
		if bytes.Contains(text, []byte(secret)) {
			t.Errorf("%s: the secret was stored", when)
		}
	}
	file := func() []byte {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	without("kept", file())
	// This is how an earlier version stored the row.
	_ = s.Close()
	raw(t, path, "UPDATE runs SET model = 'python t.py --api-key "+secret+"' WHERE id = 1")
	if !bytes.Contains(file(), []byte(secret)) {
		t.Fatal("the test has to put it there")
	}
	reader, err := Read(path, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := reader.Export(&out); err != nil || !strings.Contains(out.String(), "--api-key ***") {
		t.Errorf("%s, %v", out.String(), err)
	}
	without("exported", out.Bytes())
	_ = reader.Close()
	if err := open(t, path).Add(sample(1)); err != nil {
		t.Fatal(err)
	}
	without("scrubbed", file())
}

// BenchmarkOpen opens a store with a thousand runs, which are searched for secrets.
func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "m.db")
	s := open(b, path)
	for range 1000 {
		r := sample(1000)
		r.Model = "python /home/me/project/train.py --batch {batch} --max_tokens 512 --lr 1e-4"
		r.Setup = `{"batch":2,"model":{"config":{` + strings.Repeat(`"hidden_size":768,"num_key_value_heads":12,`, 20) + `"eos_token_id":2}}}`
		if err := s.Add(r); err != nil {
			b.Fatal(err)
		}
	}
	_ = s.Close()
	for b.Loop() {
		s, err := Open(path)
		if err != nil {
			b.Fatal(err)
		}
		_ = s.Close()
	}
}
