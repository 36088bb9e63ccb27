// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"fmt"
	"strings"
)

func (*shellSyntax) render(src []byte, old *node, value any) (string, any, error) {
	was := strings.Trim(string(src[old.start:old.end]), `'"`)
	if old.kind == Expression {
		return "", nil, fmt.Errorf("%w: the shell computes it", ErrFixed)
	}
	text, err := shText(value, was)
	if err != nil {
		return "", nil, err
	}
	_, reads := shData(text)
	switch old.style {
	case shSingle, shDouble:
		quoted, err := shQuote(text, old.style)
		return quoted, reads, err
	case shDefault, shWithin:
		if !isLiteral(text) || text == "" {
			return "", nil, fmt.Errorf("%w: %q would need quotes within quotes", ErrKind, text)
		}
		return text, reads, nil
	}
	if !isLiteral(text) || text == "" {
		text, err = shQuote(text, shSingle)
	}
	return text, reads, err
}

// shText returns a value as a program's argument, in the style of the text that it replaces.
func shText(value any, was string) (string, error) {
	switch v := value.(type) {
	case nil:
		return "", fmt.Errorf("%w: a flag cannot be null", ErrKind)
	case bool:
		return likeBool(v, was), nil
	}
	return bare(value), nil
}

// shQuote returns text in quotes that preserve it.
func shQuote(text, quote string) (string, error) {
	if strings.ContainsAny(text, "$`\\\"'!") {
		return "", fmt.Errorf("%w: %q has characters that are special in a shell", ErrKind, text)
	}
	return quote + text + quote, nil
}

// shWordOf returns a value as one word, quoted if the shell needs it.
func shWordOf(value any, was string) (string, error) {
	text, err := shText(value, was)
	if err == nil && (!isLiteral(text) || text == "") {
		return shQuote(text, shSingle)
	}
	return text, err
}

// insert adds a flag or a key=value argument after the last argument of the command that has the most of
// them.
func (*shellSyntax) insert(src []byte, parent *node, keys []string, value any) ([]splice, error) {
	if len(keys) == 1 && isVariable(keys[0]) {
		return exported(src, keys[0], value)
	}
	name, _ := flagOf(keys[0])
	flag := name != "" && strings.TrimSuffix(keys[0], "=") == name
	if len(keys) != 1 || !flag && !strings.Contains(keys[0], ".") {
		return nil, fmt.Errorf("%w: only flags (--name) and arguments (a.b) can be added to a script", ErrKind)
	}
	text, err := shWordOf(value, "")
	if err != nil {
		return nil, err
	}
	words, err := scanShell(src)
	if err != nil {
		return nil, err
	}
	line := busiest(src, words, flag)
	if line == nil {
		return nil, fmt.Errorf("%w: no command in the script has arguments of this kind", ErrFixed)
	}
	last := line[len(line)-1]
	item := keys[0] + "=" + text
	if flag && !usesEquals(src, line) {
		item = keys[0] + " " + text
	}
	for _, w := range line[1:] {
		if beginsLine(src, w.start) { // one argument per line
			return []splice{{last.end, last.end, ` \` + newline(src) + indentation(src, w.start) + item}}, nil
		}
	}
	return []splice{{last.end, last.end, " " + item}}, nil
}

// isVariable reports whether a name looks like that of an environment variable.
func isVariable(name string) bool {
	return name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" && (name[0] < '0' || name[0] > '9')
}

// exported sets an environment variable for all commands of a script. It goes below the comments at the top,
// which may be scheduler directives.
func exported(src []byte, name string, value any) ([]splice, error) {
	text, err := shWordOf(value, "")
	if err != nil {
		return nil, err
	}
	at := contentStart(src)
	for at < len(src) && (src[at] == '#' || src[at] == '\n' || src[at] == '\r') {
		at = min(lineEnd(src, at)+1, len(src))
	}
	line := "export " + name + "=" + text + newline(src)
	if at > 0 && src[at-1] != '\n' {
		line = newline(src) + line
	}
	return []splice{{at, at, line}}, nil
}

// busiest returns the command with the most flags, or with the most key=value arguments.
func busiest(src []byte, words []shWord, flags bool) []shWord {
	var best []shWord
	most := 0
	for i := 0; i < len(words); {
		end, count := i, 0
		for end < len(words) && words[end].command == words[i].command {
			if end > i && counts(string(src[words[end].start:words[end].end]), flags) {
				count++
			}
			end++
		}
		if count > most {
			best, most = words[i:end], count
		}
		i = end
	}
	return best
}

// counts reports whether a word is a flag, or a key=value argument.
func counts(word string, flags bool) bool {
	if flags {
		name, _ := flagOf(word)
		return name != ""
	}
	_, _, ok := overridden(word)
	return ok
}

// usesEquals reports whether a command's flags are written --name=value.
func usesEquals(src []byte, words []shWord) bool {
	with, without := 0, 0
	for _, w := range words {
		switch name, equals := flagOf(string(src[w.start:w.end])); {
		case equals:
			with++
		case name != "":
			without++
		}
	}
	return with > without
}
