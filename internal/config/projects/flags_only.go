// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"fmt"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/systems"
	"snug/internal/pattern"
)

// A program may take every setting from flags. Then its file shows only which parser reads the flags, and for
// what.

// parsesFlags matches the classes of arguments that a program passes to a parser; the last group is for
// argparse, which takes none.
var parsesFlags = pattern.New(`(?m)^[^#\n]*\b(?:(TrlParser|HfArgumentParser|H4ArgumentParser|ArgumentParserPlus)\(\s*(?:\w+\s*=\s*)?[(\[]?([^)\]]*)|(argparse\.ArgumentParser|ArgumentParser|fire\.Fire|simple_parsing\.parse)\()`,
	"Parser(", "Parser((", "Fire(", "simple_parsing")

// withoutSettings returns the error for a named file without settings of a run.
func (p *Found) withoutSettings(name string) error {
	data, err := p.files.ReadFile(name)
	if format, _ := doc.FormatOf(name, data); err != nil || format != doc.Python {
		return noSettings(name)
	}
	text := string(data)
	at := parsesFlags.Index(text)
	if at == nil {
		return noSettings(name)
	}
	by := text[at[0]:at[1]]
	line := 1 + strings.Count(text[:at[1]], "\n") - strings.Count(strings.TrimLeft(by, "\n"), "\n")
	if at[2] >= 0 {
		by = text[at[2]:at[3]]
		for _, class := range strings.FieldsFunc(text[at[4]:at[5]], func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) }) {
			if _, does := systems.ObjectiveOf(class); does != "" {
				return fmt.Errorf("%s:%d: %s %s; this is not estimated; measure it: snug profile -- <your command>", name, line, class, does)
			}
		}
	} else {
		by = text[at[6]:at[7]]
	}
	return fmt.Errorf("%s:%d: the program takes its settings from flags (%s); name the shell script that starts it with them: --config-path run.sh, or give them: --model NAME --batch N --seq N", name, line, by)
}

// noSettings returns the error for a file that is not a config.
func noSettings(name string) error {
	return fmt.Errorf("%s contains no setting that snug knows; bind one in snug.yaml: snug init", name)
}
