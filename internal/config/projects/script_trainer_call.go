// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"strings"

	"snug/internal/pattern"
)

// This file finds the model that is passed to SFTTrainer, as model="gpt2" or as the first argument. The other
// arguments may be calls; calls nested in those are not followed.

// maxUnits limits how far into a call's arguments the model is searched for. A character is one unit, and so
// is a whole nested call.
const maxUnits = 800

const trainerName = "SFTTrainer("

var (
	modelArgument = pattern.New(`^model\s*=\s*` + nameExpression)
	firstText     = pattern.New(`^\s*("[^"\n]*")`)
)

// trainerModel returns the model passed to SFTTrainer, as written in the script, or "".
func trainerModel(text string) string {
	for from := 0; ; {
		at := strings.Index(text[from:], trainerName)
		if at < 0 {
			return ""
		}
		at += from
		line := strings.LastIndexByte(text[:at], '\n') + 1
		calls, end := callsOn(text, line)
		for _, call := range calls {
			if name := argumentModel(text, call); name != "" {
				return name
			}
		}
		for _, call := range calls {
			if m := firstText.Find(text[call:]); m != nil {
				return m[1]
			}
		}
		from = end
	}
}

// callsOn returns where the arguments of a line's calls begin, ignoring comments, and where the line
// ends.
func callsOn(text string, line int) (calls []int, end int) {
	end = len(text)
	if i := strings.IndexByte(text[line:], '\n'); i >= 0 {
		end = line + i
	}
	code, _, _ := strings.Cut(text[line:end], "#")
	for at := 0; ; {
		i := strings.Index(code[at:], trainerName)
		if i < 0 {
			return calls, end
		}
		at += i + len(trainerName)
		if begin := at - len(trainerName); begin == 0 || !isWordByte(code[begin-1]) {
			calls = append(calls, line+at)
		}
	}
}

// argumentModel returns the argument named model of a call whose arguments begin at a byte, or "".
func argumentModel(text string, at int) string {
	for range maxUnits + 1 {
		if strings.HasPrefix(text[at:], "model") && !isWordByte(text[at-1]) {
			if m := modelArgument.Find(text[at:]); m != nil {
				return m[1]
			}
		}
		switch {
		case at == len(text) || text[at] == ')':
			return ""
		case text[at] == '(':
			inner := strings.IndexAny(text[at+1:], "()")
			if inner < 0 || text[at+1+inner] == '(' {
				return ""
			}
			at += 1 + inner
		}
		at++
	}
	return ""
}

// isWordByte reports whether a character can be part of a name.
func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}
