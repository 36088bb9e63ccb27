// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"unicode/utf8"

	"snug/internal/term"
)

// Messages quote the user's files, and a value can be as long as its file. A message begins with what is
// wrong and ends with what to do, so both ends are kept.
const (
	maxMessage = 2000 // bytes of a message
	keptHead   = 1200 // bytes kept from the beginning of a longer message
	keptTail   = 600
)

// brief returns the message, without its middle if it is too long to read.
func brief(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	head, tail := keptHead, len(text)-keptTail
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return fmt.Sprintf("%s [... %s bytes omitted ...] %s", text[:head], term.Count(tail-head), text[tail:])
}

// briefly applies brief to each message.
func briefly(texts []string) []string {
	out := make([]string, 0, len(texts))
	for _, t := range texts {
		out = append(out, brief(t))
	}
	return out
}
