// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadSettings(t *testing.T) {
	const text = "[project]\nname = \"x\"\n[tool.snug.lint]\nselect = [\"SNG1\", \"SNG801\"]\nignore = [\"SNG105\"]\nexclude = [\"third_party\"]\ntorch = \"2.6\"\n" +
		"[tool.snug.lint.per-file-ignores]\n\"scripts/*.py\" = [\"SNG801\"]\n"
	got, err := ReadSettings("pyproject.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := Settings{
		Select: []string{"SNG1", "SNG801"}, Ignore: []string{"SNG105"}, Exclude: []string{"third_party"}, Torch: "2.6",
		PerFile: map[string][]string{"scripts/*.py": {"SNG801"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if n := len(got.Rules("a.py")); n != 9 {
		t.Errorf("%d rules apply to a.py, want 9", n)
	}
	if n := len(got.Rules("scripts/a.py")); n != 8 {
		t.Errorf("%d rules apply to scripts/a.py, want 8", n)
	}
}

func TestWrongSettings(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"selct = []", "pyproject.toml:2:9: [tool.snug.lint] has no key \"selct\"; did you mean select?"},
		{"select = \"SNG1\"", "pyproject.toml:2:10: select must be a list of strings"},
		{"select = [1]", "pyproject.toml:2:10: select must be a list of strings"},
		{"select = [\"E501\"]", "there is no rule \"E501\""},
		{"torch = 2.6", "pyproject.toml:2:9: torch must be a release in quotes"},
	} {
		_, err := ReadSettings("pyproject.toml", []byte("[tool.snug.lint]\n"+c.line+"\n"))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.line, err, c.want)
		}
	}
	if s, err := ReadSettings("pyproject.toml", []byte("[tool.ruff]\nselect = 1\n")); err != nil || len(s.Rules("a.py")) != len(defaults()) {
		t.Errorf("another tool's table: %v", err)
	}
}

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, file string
		want          bool
	}{
		{"third_party", "a/third_party/b.py", true},
		{"*_test.py", "a/b_test.py", true},
		{"a/*.py", "a/b.py", true},
		{"a/*.py", "c/a/b.py", false},
		{"a/**", "a/b/c.py", true},
		{"**/b/*.py", "x/y/b/c.py", true},
		{"a/b", "a/b/c/d.py", true},
		{"a/b", "a/bc/d.py", false},
		{"[", "[", false},
	} {
		if got := inPattern(c.pattern, c.file); got != c.want {
			t.Errorf("%s on %s: %v", c.pattern, c.file, got)
		}
	}
}

func TestBaseline(t *testing.T) {
	finding := func(line int, source string) Finding {
		return Finding{Rule: "SNG102", Path: "a.py", Line: line, Source: source}
	}
	first := []Finding{finding(3, "t += loss"), finding(9, "t += loss"), finding(12, "u += loss")}
	known, err := ReadBaseline("known", WriteBaseline(first))
	if err != nil {
		t.Fatal(err)
	}
	later := []Finding{finding(5, "t += loss"), finding(11, "t += loss"), finding(14, "t += loss"), finding(20, "u += loss")}
	if diff := cmp.Diff([]Finding{later[2]}, known.New(later), cmp.AllowUnexported(Finding{}, edit{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := ReadBaseline("known", []byte("x\n")); err == nil || !strings.HasPrefix(err.Error(), "known:1: ") {
		t.Errorf("a damaged file: %v", err)
	}
}
