// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"errors"
	"testing"
)

// TestInsertFlag checks that a flag is added to the command that has another flag, in a place where no later
// word, such as a redirection, can be taken for its value.
func TestInsertFlag(t *testing.T) {
	tests := map[string]struct {
		before string
		value  any
		want   string // "" if it is refused
	}{
		"at the end":        {"python t.py --bs 4\n", true, "python t.py --bs 4 --new\n"},
		"a value":           {"python t.py --bs 4\n", 8, "python t.py --bs 4 --new 8\n"},
		"off":               {"python t.py --bs 4\n", false, "python t.py --bs 4 --new False\n"},
		"equals":            {"python t.py --bs=4 --a=1 --b\n", 8, "python t.py --bs=4 --new=8 --a=1 --b\n"},
		"a line each":       {"python t.py \\\n  --bs 4 \\\n  --a 1\n", true, "python t.py \\\n  --bs 4 \\\n  --new \\\n  --a 1\n"},
		"the last line":     {"python t.py \\\n  --bs 4\n", true, "python t.py \\\n  --bs 4 \\\n  --new\n"},
		"no new line":       {"python t.py --bs 4", true, "python t.py --bs 4 --new"},
		"an argument after": {"python t.py --bs 4 file\n", true, "python t.py --new --bs 4 file\n"},
		"redirected":        {"python t.py --bs 4 2>&1 | tee log\n", true, "python t.py --new --bs 4 2>&1 | tee log\n"},
		"piped":             {"python t.py --bs 4 | tee log\n", true, "python t.py --bs 4 --new | tee log\n"},
		"a comment":         {"python t.py --bs 4 # four\n", true, "python t.py --bs 4 --new # four\n"},
		"the busier other":  {"python t.py --bs 4\npython e.py --a 1 --b 2 --c 3\n", true, "python t.py --bs 4 --new\npython e.py --a 1 --b 2 --c 3\n"},
		"a variable":        {"BS=4\npython t.py --bs $BS\n", true, "BS=4\npython t.py --bs $BS --new\n"},
		"a quoted variable": {"BS=4\npython t.py --bs \"$BS\" --a\n", true, "BS=4\npython t.py --bs \"$BS\" --new --a\n"},
		"a fallback":        {"python t.py --bs ${BS:-4} --a\n", true, "python t.py --bs ${BS:-4} --new --a\n"},
		"an array":          {"A=(--bs 4)\npython t.py \"${A[@]}\"\n", true, "A=(--bs 4 --new)\npython t.py \"${A[@]}\"\n"},
		"a quoted text":     {"A=\"t.py --bs 4 --a 1\"\npython $A\n", true, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d, err := OpenAs("run.sh", Shell, []byte(tt.before))
			if err != nil {
				t.Fatal(err)
			}
			edited, err := d.InsertFlag(Path{"--new"}, Path{"--bs"}, tt.value)
			if tt.want == "" {
				if !errors.Is(err, ErrFixed) {
					t.Errorf("got %v, %v; want %v", edited, err, ErrFixed)
				}
				return
			}
			if err != nil || string(edited.Bytes()) != tt.want {
				t.Errorf("got %v, %v; want\n%s", edited, err, tt.want)
			}
		})
	}
}

// TestSetFlag turns off flags without a value.
func TestSetFlag(t *testing.T) {
	for before, want := range map[string]string{
		"python t.py --bf16 --a 1\n":       "python t.py --bf16 False --a 1\n",
		"python t.py --a=1 --b=2 --bf16\n": "python t.py --a=1 --b=2 --bf16=False\n",
		"python t.py --bf16 true\n":        "",
		"python t.py --a 1\n":              "",
	} {
		d, err := OpenAs("run.sh", Shell, []byte(before))
		if err != nil {
			t.Fatal(err)
		}
		edited, err := d.SetFlag(Path{"--bf16"}, false)
		switch {
		case want == "" && err == nil:
			t.Errorf("%q became %q", before, edited.Bytes())
		case want != "" && (err != nil || string(edited.Bytes()) != want):
			t.Errorf("%q: got %v, %v; want %q", before, edited, err, want)
		}
	}
}
