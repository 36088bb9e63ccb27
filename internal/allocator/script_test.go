// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type golden struct {
	Name, Version  string
	Script, Expect []string
}

func goldenVectors(t testing.TB) []golden {
	t.Helper()
	f, err := os.Open("testdata/allocator_golden.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out []golden
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var g golden
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
			t.Fatal(err)
		}
		out = append(out, g)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func script(t testing.TB, version string, lines ...string) (string, error) {
	t.Helper()
	v, err := ParseVersion(version)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = RunScript(strings.NewReader(strings.Join(lines, "\n")), &out, v)
	return out.String(), err
}

// TestGolden compares every line with what the real allocator printed.
func TestGolden(t *testing.T) {
	vectors := goldenVectors(t)
	if len(vectors) != 60 {
		t.Fatalf("read %d golden vectors, want 60", len(vectors))
	}
	for _, g := range vectors {
		t.Run(g.Name+"/"+g.Version, func(t *testing.T) {
			got, err := script(t, g.Version, g.Script...)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Join(g.Expect, "\n") + "\n"
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("output differs (-real +ours):\n%s", diff)
			}
		})
	}
}
