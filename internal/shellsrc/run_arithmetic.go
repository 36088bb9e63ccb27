// SPDX-License-Identifier: Apache-2.0

package shellsrc

import (
	"fmt"
	"strconv"
	"strings"
)

// arithmeticCommand follows ((…)).
func (r *runner) arithmeticCommand(s arithmetic) outcome {
	if strings.Contains(s.text.text, ";") { // for ((a; b; c))
		for _, name := range namesIn(s.text.text) {
			r.set(name, &variable{pieces: unknown(fmt.Sprintf("it changes in the loop at line %d", r.line(s.start))), definition: -1})
		}
		return unsure
	}
	text := r.arithmeticText(s.text)
	if text.why != "" {
		r.forget(s.text.text)
		return unsure
	}
	return r.arithmeticStatement(computed(text.text))
}

// arithmeticStatement follows an expression that may assign: i++, n += 2, n = a * b.
func (r *runner) arithmeticStatement(pieces []Piece) outcome {
	text, known := textOf(pieces)
	text = strings.TrimSpace(text)
	name, expression := assigningExpression(text)
	if !known || !r.spend(1+len(text)/16) {
		return unsure
	}
	n, why := r.number(expression)
	if why != "" {
		r.forget(text)
		return unsure
	}
	if name != "" {
		r.set(name, &variable{pieces: computed(strconv.FormatInt(n, 10)), definition: -1})
	}
	if n != 0 {
		return yes
	}
	return no
}

// forget makes the variables that an expression may assign unknown.
func (r *runner) forget(text string) {
	if !strings.Contains(text, "=") && !strings.Contains(text, "++") && !strings.Contains(text, "--") {
		return
	}
	for _, name := range namesIn(text) {
		r.set(name, &variable{pieces: unknown("((" + shortened(text) + ")) is not understood"), definition: -1})
	}
}

// assigningExpression returns the variable that an expression assigns and the assigned expression; "" if it assigns
// none.
func assigningExpression(text string) (name, expression string) {
	for _, op := range []string{"++", "--"} {
		if rest, ok := strings.CutPrefix(text, op); ok && nameEnd(rest) == len(rest) {
			return rest, rest + op[:1] + "1"
		}
		if rest, ok := strings.CutSuffix(text, op); ok && nameEnd(rest) == len(rest) {
			return rest, rest + op[:1] + "1"
		}
	}
	n := nameEnd(text)
	rest := strings.TrimLeft(text[n:], " \t")
	switch {
	case n == 0 || len(rest) < 2:
	case rest[0] == '=' && rest[1] != '=':
		return text[:n], rest[1:]
	case strings.IndexByte("+-*/%", rest[0]) >= 0 && rest[1] == '=':
		return text[:n], text[:n] + rest[:1] + "(" + rest[2:] + ")"
	}
	return "", text
}
