// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"errors"

	"snug/internal/shellsrc"
)

// shWord is one word of a command as written, quotes and substitutions included.
type shWord struct {
	start, end int
	command    int // words of one command have the same number
}

// scanShell returns the words of a script as written.
func scanShell(src []byte) ([]shWord, error) {
	words, err := shellsrc.Words(string(src))
	if err != nil {
		return nil, shellError(err)
	}
	out := make([]shWord, len(words))
	for i, w := range words {
		out[i] = shWord{w.Start, w.End, w.Command}
	}
	return out, nil
}

// shellError converts an error in a script to a parser error.
func shellError(err error) error {
	var mistake *shellsrc.SyntaxError
	if errors.As(err, &mistake) {
		return failAt(mistake.At, "%s", mistake.Text)
	}
	return err
}
