// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Page is a file that ships with the program: a man page or the completions for a shell.
type Page struct {
	Name string // snug-estimate.1, snug.bash, _snug, snug.fish, snug.ps1
	Data []byte // its contents
}

// Pages returns the man pages of all commands and the completions for all shells, generated from the commands. date is
// the release date.
func Pages(version, date string) ([]Page, error) {
	root := newRoot(Env{})
	var out []Page
	var each func(*cobra.Command)
	each = func(c *cobra.Command) {
		if c != root && (!c.IsAvailableCommand() || c.Name() == "help") {
			return
		}
		name := strings.ReplaceAll(c.CommandPath(), " ", "-")
		out = append(out, Page{name + ".1", []byte(manual{c, version, date}.text())})
		for _, sub := range c.Commands() {
			each(sub)
		}
	}
	each(root)
	for _, shell := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"snug.bash", func(w io.Writer) error { return root.GenBashCompletionV2(w, true) }},
		{"_snug", root.GenZshCompletion},
		{"snug.fish", func(w io.Writer) error { return root.GenFishCompletion(w, true) }},
		{"snug.ps1", root.GenPowerShellCompletionWithDesc},
	} {
		var b bytes.Buffer
		if err := shell.write(&b); err != nil {
			return nil, fmt.Errorf("writing %s: %w", shell.name, err)
		}
		out = append(out, Page{shell.name, b.Bytes()})
	}
	return out, nil
}

// manual writes the man page of a command, in the macros of man(7).
type manual struct {
	*cobra.Command
	version, date string
}

func (m manual) text() string {
	var b strings.Builder
	name := strings.ReplaceAll(m.CommandPath(), " ", "-")
	fmt.Fprintf(&b, ".TH %s 1 %q %q \"User Commands\"\n", roff(strings.ToUpper(name)), m.date, "snug "+m.version)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.B %s\n", roff(name), roff(m.Short), roff(m.UseLine()))
	b.WriteString(".SH DESCRIPTION\n")
	long := m.Long
	if long == "" {
		long = m.Short + "."
	}
	for i, paragraph := range strings.Split(strings.TrimSpace(long), "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		b.WriteString(lines(paragraph))
	}
	m.options(&b)
	if m.HasExample() {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s.fi\n", lines(m.Example))
	}
	b.WriteString(".SH EXIT STATUS\n")
	for _, e := range exits {
		fmt.Fprintf(&b, ".TP\n%d\n%s\n", e.code, roff(e.meaning))
	}
	m.also(&b)
	return b.String()
}

// options writes the flags, in the order of the help text.
func (m manual) options(b *strings.Builder) {
	flags := m.LocalFlags()
	if !flags.HasAvailableFlags() {
		return
	}
	b.WriteString(".SH OPTIONS\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		fmt.Fprintf(b, ".TP\n\\fB%s\\fR", roff(name))
		if value != "" {
			fmt.Fprintf(b, " \\fI%s\\fR", roff(value))
		}
		fmt.Fprintf(b, "\n%s", lines(usage))
	})
}

// also lists the pages of the other commands.
func (m manual) also(b *strings.Builder) {
	var names []string
	if m.HasParent() {
		names = append(names, strings.ReplaceAll(m.Parent().CommandPath(), " ", "-"))
	}
	for _, c := range m.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" {
			names = append(names, strings.ReplaceAll(c.CommandPath(), " ", "-"))
		}
	}
	if len(names) == 0 {
		return
	}
	b.WriteString(".SH SEE ALSO\n")
	for i, name := range names {
		comma := ","
		if i == len(names)-1 {
			comma = ""
		}
		fmt.Fprintf(b, ".BR %s (1)%s\n", roff(name), comma)
	}
}

// lines escapes text so that no line begins with a macro.
func lines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = roff(strings.TrimRight(line, "\n"))
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			line = `\&` + line
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// roff escapes text for roff. Hyphens become minus signs, so that commands can be copied; non-ASCII characters are
// written as code points.
func roff(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r > unicode.MaxASCII:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
