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

// TestGolden compares every line with the output of the real allocator.
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

// TestExtracts runs scripts short enough to check by hand.
func TestExtracts(t *testing.T) {
	tests := []struct {
		name   string
		script string
		says   []string // texts that the output must contain
	}{
		{"one byte", "a x 1;p s", []string{"alloc=512/512 ", "resv=2097152/", "isplit=1/2096640"}},
		{"1 MiB is small", "a x 1;a y 1048576;p s", []string{"alloc=1049088/", "resv=2097152/"}},
		{"1 MiB and a byte is large", "a z 1048577;snap", []string{"20971520 L st=0 : 1049088A 19922432f"}},
		{"just under 10 MiB shares a segment", "a z 1048577;a w 10485759;p s", []string{"resv=20971520/"}},
		{"10 MiB has its own", "a v 10485760;snap", []string{"seg +0 10485760 L st=0 : 10485760A"}},
		{"a rest of exactly 1 MiB is not split off", "a a 13631488;p s", []string{"alloc=14680064/", "resv=14680064/"}},
		{"a flush makes room", "total 268435456;a a 104857600;a b 104857600;f a;f b;a c 157286400;p s",
			[]string{"resv=157286400/209715200", "retries=1", "dfree=2"}},
		{"expandable", "conf expandable_segments:True;a a 5242880;p one;a b 31457280;p two;snap",
			[]string{"one alloc=5242880/", "resv=20971520/20971520 seg=0", "resv=41943040/41943040 seg=0", ": 5242880A 31457280A 5242880f"}},
		{"max_split keeps oversize blocks whole", "conf max_split_size_mb:64;a a 134217728;f a;a b 33554432;p s", []string{"resv=167772160/"}},
		{"a near fit takes it whole", "conf max_split_size_mb:64;a a 134217728;f a;a b 121634816;p s", []string{"alloc=134217728/", "resv=134217728/"}},
		{"20 MiB too many is refused", "conf max_split_size_mb:64;a a 134217728;f a;a b 113246208;p s", []string{"alloc=113246208/", "resv=247463936/"}},
		{"divisions", "conf roundup_power2_divisions:4;a a 1200;p a;a b 2049;p b;a c 5000;p c;a d 88080384;p d;a e 1572865;p e;a f 3670017;p f",
			[]string{"a alloc=1536/", "b alloc=4096/", "c alloc=9216/", "d alloc=100672512/", "e alloc=102507520/", "f alloc=106701824/"}},
		{"the limit asks for a whole segment", "total 1073741824;frac 0.1;a a 62914560;a b 41943040;a c 5242880", []string{"OOM c :: CUDA out of memory. Tried to allocate 20.00 MiB."}},
		{"zero bytes are nothing", "a x 0;p s;f x", []string{"alloc=0/0 ", "nact=0"}},
		{"an absurd request", "a x 1152921504606846976", []string{"OOM x :: CUDA out of memory. Tried to allocate more than 1EB memory."}},
		{"a freed name may be used again", "a x 1;f x;a x 2;p s", []string{"alloc=512/512"}},
		{"a failed name may be used again", "total 2097152;a x 3000000;a x 1;p s", []string{"alloc=512/512"}},
		{"a fraction in conf counts at start-up", "total 1073741824;conf per_process_memory_fraction:0.1;a x 209715200", []string{"102.40 MiB allowed"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := script(t, "2.11", strings.Split(test.script, ";")...)
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range test.says {
				if !strings.Contains(got, line) {
					t.Errorf("output lacks %q:\n%s", line, got)
				}
			}
		})
	}
}

func TestScriptErrors(t *testing.T) {
	tests := []struct{ script, says string }{
		{"jump", "line 1: jump: no such command"},
		{"a x 1;\n;# note;f y", `line 5: f: "y" is not allocated`},
		{"a x 1;a x 2", `line 2: a: "x" is already allocated`},
		{"a x 1;f x;f x", `line 3: f: "x" is not allocated`},
		{"a x ten", `"ten" is not a number of bytes`},
		{"a x -1", `"-1" is not a number of bytes`},
		{"a x 99999999999999999999999", "is not a number of bytes"},
		{"a x", "takes 2 to 3 arguments, got 1"},
		{"a x 1 y", `"y" is not a stream number`},
		{"rs x 1", `"x" is not allocated`},
		{"a x 1;rs x -3", "is not a stream number"},
		{"ev 2", "neither 0 nor 1"},
		{"frac 1.5", "not between 0 and 1"},
		{"frac x", "is not a number"},
		{"frac NaN", "not between 0 and 1"},
		{"total 1e9", "is not a number of bytes"},
		{"total 18446744073709551615", "is not a number of bytes"},
		{"conf nonsense:1", `unknown allocator option "nonsense"`},
		{"pe", "has not begun"},
		{"pr", "does not exist"},
		{"pb;pr", "has not ended"},
		{"pb;pb", "line 2: pb: private pool (0,1) has already begun"},
		{"pb;a x 1;pe;pr;pb", "was released but still has memory"},
	}
	for _, test := range tests {
		_, err := script(t, "2.11", strings.Split(test.script, ";")...)
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%q: error %v, want one containing %q", test.script, err, test.says)
		}
	}
}

func FuzzScript(f *testing.F) {
	f.Add("total 134217728\nconf expandable_segments:True\na x 30000000 1\nrs x 2\nf x\nev 0\ne\np s\nsnap\nused")
	f.Add("conf max_split_size_mb:64\npb\na x 1\npe\npr\ne\nfrac 0.3\na y 99999999")
	f.Fuzz(func(t *testing.T, text string) {
		for _, v := range []Version{{2, 1}, {2, 11}, Latest} {
			var out bytes.Buffer
			_ = RunScript(strings.NewReader(text), &out, v) // errors are fine, panics are not
		}
	})
}
