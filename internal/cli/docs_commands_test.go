// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestCommandsPage checks that docs/commands.md matches the commands' help texts.
func TestCommandsPage(t *testing.T) {
	const path = "../../docs/commands.md"
	want := commandsPage()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/commands.md is out of date; go test ./internal/cli -run TestCommandsPage -update\n%s", diff)
	}
}

// commandsPage returns the reference page for all commands.
func commandsPage() string {
	var b strings.Builder
	b.WriteString(`# Commands

This page is generated from the commands themselves; ` + "`snug COMMAND --help`" + ` says the same, and more.
` + "`estimate`, `max-batch`, `optimize` and `tune`" + ` also take a flag for each setting of a run: [setup.md](setup.md)
lists them. If no card is named, snug uses the card of this machine, except for ` + "`estimate --json`" + `
and ` + "`max-batch --json`" + `, whose answers are the same on every machine.

`)
	b.WriteString("| exit code | |\n| ---: | --- |\n")
	for _, e := range exits {
		fmt.Fprintf(&b, "| %d | %s |\n", e.code, e.meaning)
	}
	b.WriteString("\n")
	for _, c := range newRoot(Env{}).Commands() {
		section(&b, c, "##")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// section writes a command and its subcommands.
func section(b *strings.Builder, c *cobra.Command, level string) {
	if !c.IsAvailableCommand() {
		return
	}
	fmt.Fprintf(b, "%s %s\n%s.\n\n```\n%s\n```\n\n", level, c.CommandPath(), c.Short, c.UseLine())
	if c.HasExample() {
		fmt.Fprintf(b, "```sh\n%s\n```\n\n", strings.ReplaceAll(strings.TrimPrefix(c.Example, "  "), "\n  ", "\n"))
	}
	if rows := flagRows(c); rows != "" {
		fmt.Fprintf(b, "| flag | |\n| --- | --- |\n%s\n", rows)
	}
	for _, sub := range c.Commands() {
		section(b, sub, level+"#")
	}
}

// flagRows returns the rows of a command's flags, without the settings of a run.
func flagRows(c *cobra.Command) string {
	ofRun := map[string]bool{"help": true}
	if c.Flags().Lookup("checkpointing") != nil {
		for _, flag := range settingFlags() {
			ofRun[flag.Name] = true
		}
	}
	var b strings.Builder
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if ofRun[f.Name] {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := strings.TrimSpace("--" + f.Name + " " + value)
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if d := f.DefValue; d != "" && d != "false" && d != "[]" && d != "0" && !strings.Contains(usage, "default") {
			usage += fmt.Sprintf(" (default %s)", d)
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, usage)
	})
	return b.String()
}
