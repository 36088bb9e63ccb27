// SPDX-License-Identifier: Apache-2.0

package snug_test

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestProgramsAreExamples checks that the programs in the README and in docs/go.md are parts of the examples tested here.
func TestProgramsAreExamples(t *testing.T) {
	examples, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for file, least := range map[string]int{"README.md": 1, "docs/go.md": 7} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		programs := strings.Split(string(text), "```go\n")[1:]
		if len(programs) < least {
			t.Errorf("%s has %d programs, want %d", file, len(programs), least)
		}
		for _, program := range programs {
			program, _, _ = strings.Cut(program, "```")
			for line := range strings.Lines(program) {
				line, says, _ := strings.Cut(strings.TrimSpace(line), " // ")
				if !strings.Contains(string(examples), "\t"+line+"\n") || says != "" && !strings.Contains(string(examples), "// reserved: "+says+"\n") {
					t.Errorf("%s: no example has %q", file, line)
				}
			}
		}
	}
}

// TestReadmeFigures checks the README's figures against docs/accuracy.md, which is generated from the measurements.
func TestReadmeFigures(t *testing.T) {
	readme, accuracy := words(t, "README.md"), page(t, "docs/accuracy.md")
	var runs, exact int
	for _, row := range tableUnder(accuracy, "## Overall") {
		n, _, _ := strings.Cut(row[2], " of ")
		runs, exact = runs+number(t, n), exact+number(t, row[3])
	}
	if runs < 300 {
		t.Fatalf("docs/accuracy.md has only %d runs", runs)
	}
	wants := []string{fmt.Sprintf("Of %d real training runs", runs), fmt.Sprintf("predicts %d peaks exactly, to the byte", exact)}

	larger := tableUnder(accuracy, "## Larger batches, from two small ones")
	right := 0
	for _, row := range larger {
		if row[5] == "0" {
			right++
		}
	}
	wants = append(wants, fmt.Sprintf("At batches larger than the recorded ones, %d of %d predictions were exact to the byte", right, len(larger)))

	wants = append(wants, scriptFigures(t)...)
	wants = append(wants, fmt.Sprintf("to the byte on %d measured runs", strings.Count(page(t, "testdata/measured/dev_ragged.jsonl"), "\n")))
	names := map[string]string{
		"EleutherAI": "EleutherAI's formula", "Megatron": "Megatron's activation formula",
		"DeepSpeed": "DeepSpeed's estimator", "accelerate": "accelerate's rule",
	}
	peers := 0
	for _, row := range tableUnder(accuracy, "## Other formulas") {
		first, _, _ := strings.Cut(strings.ReplaceAll(row[0], "'", " "), " ")
		if name := names[first]; name != "" {
			peers++
			wants = append(wants, fmt.Sprintf("| %s | %s | %s | %s |", name, whole(t, row[3]), whole(t, row[4]), whole(t, row[5])))
		}
	}
	if peers != len(names) {
		t.Errorf("found %d of %d formulas", peers, len(names))
	}
	for _, want := range wants {
		if !strings.Contains(readme, want) {
			t.Errorf("README.md does not say %q, as docs/accuracy.md does", want)
		}
	}
}

// scriptFigures returns the README's statements about runs read from scripts. A test in internal/simulate checks the
// table in docs/loops.md against the measurements.
func scriptFigures(t *testing.T) []string {
	t.Helper()
	runs, left, kinds, within := 0, 0, 0, 0.0
	for _, row := range tableUnder(page(t, "docs/loops.md"), "## How exact it is") {
		runs, left, kinds = runs+number(t, row[1]), left+number(t, row[2]), kinds+1
		if row[4] != "0.00 %" {
			t.Errorf("the median of %s is %s", row[0], row[4])
		}
		share, err := strconv.ParseFloat(strings.TrimSuffix(row[5], " %"), 64)
		if err != nil {
			t.Fatal(err)
		}
		within = max(within, share)
	}
	simulated := "all"
	if left > 0 {
		simulated = strconv.Itoa(runs - left)
	}
	return []string{
		fmt.Sprintf("We measured %d runs of %d kinds of programs", runs, kinds),
		fmt.Sprintf("snug simulates %s of them. For every kind, the median error is 0.00 %%, and nine in ten runs are within %.2f %%", simulated, within),
	}
}

func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// words returns a page without its line breaks.
func words(t *testing.T, name string) string { return strings.Join(strings.Fields(page(t, name)), " ") }

// tableUnder returns the cells of the first table below a heading, without the header row.
func tableUnder(text, heading string) [][]string {
	_, text, _ = strings.Cut(text, heading)
	var out [][]string
	for line := range strings.Lines(text) {
		row := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(row) > 2 {
			for i := range row {
				row[i] = strings.TrimSpace(row[i])
			}
			out = append(out, row)
		} else if len(out) > 0 {
			break
		}
	}
	return out[min(2, len(out)):]
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// whole returns a percentage without its decimals: +467.93 % becomes +468 %.
func whole(t *testing.T, share string) string {
	t.Helper()
	f, err := strconv.ParseFloat(strings.Fields(share)[0], 64)
	if err != nil {
		t.Fatal(err)
	}
	sign := ""
	if strings.HasPrefix(share, "+") {
		sign = "+"
	}
	return fmt.Sprintf("%s%.0f %%", sign, math.Round(f))
}
