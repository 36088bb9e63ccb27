// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestHooksParse checks that the pre-commit hooks and the workflow in the docs use existing commands and flags.
func TestHooksParse(t *testing.T) {
	data, err := os.ReadFile("../../.pre-commit-hooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var hooks []struct{ ID, Entry, Language, Files string }
	if err := yaml.Unmarshal(data, &hooks); err != nil {
		t.Fatal(err)
	}
	if len(hooks) != 2 {
		t.Errorf("%d hooks, want lint and check", len(hooks))
	}
	for _, h := range hooks {
		parses(t, h.ID, h.Entry)
		if _, err := regexp.Compile(h.Files); err != nil {
			t.Errorf("%s: files: %v", h.ID, err)
		}
	}
	data, err = os.ReadFile("../../docs/workflows/snug-check.yml")
	if err != nil {
		t.Fatal(err)
	}
	var flow struct {
		Jobs map[string]struct{ Steps []struct{ Run string } }
	}
	if err := yaml.Unmarshal(data, &flow); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, s := range flow.Jobs["memory"].Steps {
		if strings.HasPrefix(s.Run, "snug ") {
			parses(t, "workflow", regexp.MustCompile(`"\$\([^)]*\)"`).ReplaceAllString(s.Run, "REV"))
			found++
		}
	}
	if found != 1 {
		t.Errorf("the workflow runs snug %d times", found)
	}
}

func parses(t *testing.T, name, line string) {
	t.Helper()
	args, ok := strings.CutPrefix(line, "snug ")
	cmd, rest, err := newRoot(Env{}).Find(strings.Fields(args))
	if err == nil && ok {
		err = cmd.ParseFlags(rest)
	}
	if err != nil || !ok || cmd.Name() == "snug" {
		t.Errorf("%s: %q: %v", name, line, err)
	}
}
