// SPDX-License-Identifier: Apache-2.0

package snug_test

import (
	"os"
	"strings"
	"testing"
)

// TestReadmeIsTheExample wants the program in the README to be the one that is run here.
func TestReadmeIsTheExample(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	examples, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```go\n")
	program, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the README has no Go in it")
	}
	for line := range strings.Lines(program) {
		line, says, _ := strings.Cut(strings.TrimSpace(line), " // ")
		if !strings.Contains(string(examples), "\t"+line+"\n") || says != "" && !strings.Contains(string(examples), "// reserved: "+says+"\n") {
			t.Errorf("no example has %q", line)
		}
	}
}
