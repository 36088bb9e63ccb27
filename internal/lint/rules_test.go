// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// TestSnippets checks the labeled snippets: each line has exactly the findings in its "# want: CODE" comment.
func TestSnippets(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	snippets, seen := 0, map[string]bool{}
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			snippets++
			found, err := Source(f.Name, f.Data, everything())
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			for _, x := range found {
				seen[x.Rule] = true
			}
			if diff := cmp.Diff(wanted(string(f.Data)), codesByLine(found)); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", name, f.Name, diff)
			}
		}
	}
	if snippets < 80 {
		t.Errorf("%d snippets, want at least 80", snippets)
	}
	for _, code := range Codes() {
		if !seen[code] && code != "SNG604" { // SNG604 needs a PyTorch release; see TestExamples
			t.Errorf("no snippet has a finding of %s", code)
		}
	}
}

// everything returns options with all rules.
func everything() Options {
	return Options{Rules: func(string) []Rule { return Rules() }}
}

// wanted returns a source's labels, by line.
func wanted(src string) []string {
	label := regexp.MustCompile(`want: ([A-Z0-9, ]+)`)
	out := []string{}
	for i, line := range strings.Split(src, "\n") {
		if m := label.FindStringSubmatch(line); m != nil {
			for code := range strings.SplitSeq(m[1], ",") {
				out = append(out, fmt.Sprintf("%d %s", i+1, strings.TrimSpace(code)))
			}
		}
	}
	return out
}

func codesByLine(found []Finding) []string {
	out := []string{}
	for _, f := range found {
		out = append(out, fmt.Sprintf("%d %s", f.Line, f.Rule))
	}
	return out
}

// TestExamples checks that each rule's bad example has its finding, that the good one has no findings at all, and
// that the texts are complete.
func TestExamples(t *testing.T) {
	const preamble = "import copy, os\n%simport torch.nn.functional as F\nfrom torch.utils.data import DataLoader\n" +
		"from transformers import Trainer%s\nfrom peft import get_peft_model\noptimizer = torch.optim.AdamW(model.parameters())\ndevice = 0\n"
	for _, r := range Rules() {
		t.Run(r.Code, func(t *testing.T) {
			if r.Title == "" || r.Why == "" || r.Evidence == "" || r.Name == "" {
				t.Error("a text is missing")
			}
			start := fmt.Sprintf(preamble, "import torch\n", ", AutoModelForCausalLM")
			if r.Code[3] == '6' {
				start = "import os\n"
			}
			if r.Code == "SNG601" {
				start = "import torch\n"
			}
			o := Options{Rules: func(string) []Rule { return []Rule{r} }, Torch: "2.6"}
			bad, err := Source("bad.py", []byte(start+r.Bad), o)
			if err != nil || len(bad) == 0 {
				t.Errorf("the bad example has no finding: %v", err)
			}
			good, err := Source("good.py", []byte(start+r.Good), o)
			if err != nil || len(good) > 0 {
				t.Errorf("the good example has findings: %v %v", good, err)
			}
			if canFix := slices.ContainsFunc(bad, func(f Finding) bool { return f.Fixed != "" }); canFix != r.Fixes {
				t.Errorf("Fixes is %v, but the example can be fixed: %v", r.Fixes, canFix)
			}
		})
	}
}

// TestCodes checks that codes are in order and belong to a group.
func TestCodes(t *testing.T) {
	if !slices.IsSorted(Codes()) {
		t.Errorf("the rules are not in the order of their codes: %v", Codes())
	}
	for _, code := range Codes() {
		if groups[code[3]] == "" || len(code) != 6 {
			t.Errorf("%s has no group", code)
		}
	}
}
