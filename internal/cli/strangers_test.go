// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// stranger is a program that someone wrote who had not seen how snug reads scripts, measured on an H200.
type stranger struct {
	ID, Command string
	Measured    struct{ Allocated, Reserved uint64 }
}

// strangers are the sets in testdata/loops/wild5, by the first letter of a program's name, with limits that keep them from
// getting worse.
var strangers = []struct {
	set, what string
	refused   int // most programs that are refused
	outside   int // most that are outside their interval
	within    float64
}{
	{"a", "libraries of Hugging Face, timm, Lightning", 1, 0, 9},
	{"b", "models of their own, ambitious", 5, 0, 12},
	{"c", "everyday programs", 1, 0, 8},
}

// TestStrangers estimates each program from its command alone, prints the table of docs/loops.md, and checks it.
func TestStrangers(t *testing.T) {
	loops, err := filepath.Abs("../../testdata/loops")
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	table.WriteString("| programs | runs | refused | exact | within 1 % | within 5 % | worst | inside the interval |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	all := strangersIn(t, filepath.Join(loops, "measured_wild5.jsonl"))
	for _, set := range strangers {
		var off []float64
		runs, refused, inside := 0, 0, 0
		for _, p := range all {
			if !strings.HasPrefix(p.ID, set.set) {
				continue
			}
			runs++
			a, text := p.estimate(t, filepath.Join(loops, "wild5", p.ID))
			if text != "" {
				refused++
				t.Logf("%s: refused: %s", p.ID, strings.TrimSpace(text))
				continue
			}
			x := 100 * (a.Reserved/float64(p.Measured.Reserved) - 1)
			off = append(off, math.Abs(x))
			holds := a.Interval[0] <= float64(p.Measured.Reserved) && float64(p.Measured.Reserved) <= a.Interval[1]
			if holds {
				inside++
			}
			if math.Abs(x) >= 0.1 || !holds {
				t.Logf("%s: %+.2f %% reserved, %+.2f %% allocated, inside its interval: %v", p.ID, x, 100*(a.Allocated/float64(p.Measured.Allocated)-1), holds)
			}
		}
		slices.Sort(off)
		below := func(limit float64) int { n, _ := slices.BinarySearch(off, limit); return n }
		fmt.Fprintf(&table, "| %s: %s | %d | %d | %d | %d | %d | %.1f %% | %d of %d |\n", set.set, set.what, runs, refused, below(0.005), below(1), below(5), off[len(off)-1], inside, len(off))
		if refused > set.refused || len(off)-inside > set.outside || off[len(off)-1] > set.within {
			t.Errorf("set %s: %d refused, %d outside their interval, the worst off by %.2f %%; the limits are %d, %d and %g", set.set, refused, len(off)-inside, off[len(off)-1], set.refused, set.outside, set.within)
		}
	}
	t.Log("\n" + table.String())
	doc, err := os.ReadFile("../../docs/loops.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(doc, []byte(table.String())) {
		t.Error("docs/loops.md has a different table; replace it with this one")
	}
}

func strangersIn(t *testing.T, path string) (out []stranger) {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var p stranger
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

type strangersAnswer struct {
	Allocated float64    `json:"peak_allocated"`
	Reserved  float64    `json:"peak_reserved"`
	Interval  [2]float64 `json:"interval"`
}

// estimate runs snug estimate -- COMMAND in the program's folder. It returns the answer or the error message.
func (p stranger) estimate(t *testing.T, folder string) (a strangersAnswer, refused string) {
	t.Helper()
	back, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chdir(folder); err != nil {
		t.Fatal(err)
	}
	defer os.Chdir(back) //nolint:errcheck // the folder exists
	var out, stderr bytes.Buffer
	env := Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &stderr, Getenv: func(string) string { return "" }, Open: func(name string) (io.ReadCloser, error) { return os.Open(name) }}
	if code := Run(context.Background(), env, append([]string{"estimate", "--gpu", "H200", "--json", "--"}, strings.Fields(p.Command)...)); code != 0 {
		return a, stderr.String() + "exit " + fmt.Sprint(code)
	}
	if err := json.Unmarshal(out.Bytes(), &a); err != nil {
		t.Fatalf("%s: %v: %s", p.ID, err, out.String())
	}
	return a, ""
}
