// SPDX-License-Identifier: Apache-2.0

package pysrc

import (
	"bufio"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCPython compares our trees with those of CPython's own parser, for the files in testdata and a tenth of
// Python's standard library. SNUG_TEST_ALL=1 compares all of it, and the training libraries too. SNUG_TEST_PYTHON
// selects another Python.
func TestCPython(t *testing.T) {
	python := pythonOf(t)
	files := append(pythonFiles(t, "../../testdata", 1), libraryFiles(t, python)...)
	same := compareWith(t, python, files)
	t.Logf("%d of %d files have the same tree", same, len(files))
	if same < 100 {
		t.Errorf("only %d files were compared", same)
	}
}

// pythonOf returns a Python interpreter to compare with.
func pythonOf(t *testing.T) string {
	t.Helper()
	if python := os.Getenv("SNUG_TEST_PYTHON"); python != "" {
		return python
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3 to compare with")
	}
	return python
}

// compareWith compares files and returns how many trees were equal.
func compareWith(t *testing.T, python string, files []string) int {
	t.Helper()
	cmd := exec.Command(python, "testdata/dump.py")
	cmd.Stdin = strings.NewReader(strings.Join(files, "\n"))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	same := compareAll(t, out)
	if err := cmd.Wait(); err != nil {
		t.Errorf("testdata/dump.py: %v", err)
	}
	return same
}

// libraryFiles returns the files of the standard library and of training libraries.
func libraryFiles(t *testing.T, python string) []string {
	t.Helper()
	const folders = "import os, sysconfig; print(os.path.dirname(os.__file__)); print(sysconfig.get_path('purelib'))"
	out, err := exec.Command(python, "-c", folders).Output()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(lines) != 2 {
		t.Skipf("python3 does not say where its library is: %v", err)
	}
	if os.Getenv("SNUG_TEST_ALL") != "1" {
		return pythonFiles(t, lines[0], 10)
	}
	files := pythonFiles(t, lines[0], 1)
	for _, library := range []string{"torch", "transformers", "trl", "lightning", "accelerate"} {
		folder := filepath.Join(lines[1], library)
		if _, err := os.Stat(folder); err == nil {
			files = append(files, pythonFiles(t, folder, 1)...)
		}
	}
	return files
}

// pythonFiles returns every n-th Python file below a folder. It skips packages that are installed inside a library.
func pythonFiles(t *testing.T, root string, every int) []string {
	t.Helper()
	var files []string
	n := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "site-packages" {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() || filepath.Ext(path) != ".py" {
			return nil
		}
		if n++; n%every == 0 {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// compareAll reads the output of dump.py and returns how many trees were equal.
func compareAll(t *testing.T, from io.Reader) (same int) {
	lines := bufio.NewReaderSize(from, 1<<20)
	line := func() string {
		text, err := lines.ReadString('\n')
		if err != nil && err != io.EOF {
			t.Fatal(err)
		}
		return strings.TrimSuffix(text, "\n")
	}
	for path := line(); path != ""; path = line() {
		verdict := line()
		var want []string
		for text := line(); text != ""; text = line() {
			want = append(want, text)
		}
		if verdict != "skip" && isSame(t, path, verdict, want) {
			same++
		}
	}
	return same
}

// isSame compares a file's tree with CPython's. We may accept a file that CPython refuses, because CPython refuses
// some only after parsing.
func isSame(t *testing.T, path, verdict string, want []string) bool {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
		return false
	}
	f, err := Parse(path, src)
	if strings.HasPrefix(verdict, "bad") {
		if err == nil {
			t.Logf("%s: CPython refuses it: %s", path, verdict)
		}
		return false
	}
	if err != nil {
		t.Errorf("%v", err)
		return false
	}
	got := strings.Split(strings.TrimSuffix(dump(f), "\n"), "\n")
	if len(want) == 0 {
		want = []string{""}
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !agree(got[i], want[i]) {
			t.Errorf("%s: statement %d differs:\n%s", path, i, firstDifference(got, want, i))
			return false
		}
	}
	return true
}

// agree reports whether two statements are the same, except for strings that CPython's dump omits.
func agree(got, want string) bool {
	return got == want || strings.Contains(want, "<named>") &&
		slices.EqualFunc(strings.Fields(got), strings.Fields(want), agreeWord)
}

func agreeWord(got, want string) bool {
	return got == want || strings.HasPrefix(got, `"`) && strings.HasPrefix(want, "<named>")
}

// firstDifference shows where two trees begin to differ.
func firstDifference(got, want []string, i int) string {
	if i >= len(got) || i >= len(want) {
		return "one tree is longer"
	}
	a, b := strings.Fields(got[i]), strings.Fields(want[i])
	n := 0
	for n < min(len(a), len(b)) && agreeWord(a[n], b[n]) {
		n++
	}
	from := max(0, n-10)
	return "got  " + strings.Join(a[from:min(n+10, len(a))], " ") + "\nwant " + strings.Join(b[from:min(n+10, len(b))], " ")
}
