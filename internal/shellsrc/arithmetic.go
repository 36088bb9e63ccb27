// SPDX-License-Identifier: Apache-2.0

package shellsrc

import (
	"strconv"
	"strings"
)

// arithmeticValue is the text of $((…)) after parameter expansion.
type arithmeticValue struct {
	text, why string
	from      []int
}

// arithmeticText expands the parameters in an expression.
func (r *runner) arithmeticText(p part) arithmeticValue {
	if !r.spend(1 + len(p.text)/16) {
		return arithmeticValue{why: "the script is too complex to follow"}
	}
	text := &parser{src: p.text, places: p.places}
	parts, err := text.parts(0, len(p.text), doubled, 0)
	if err != nil {
		return arithmeticValue{why: shortened(p.text) + " is not understood"}
	}
	w := r.one(word{parts: parts})
	expression, _ := w.Text()
	from := w.From
	for _, name := range namesIn(expression) {
		if v := r.variables[name]; v != nil {
			from = mergedFrom(from, append([]int{v.definition}, v.from...))
		}
	}
	return arithmeticValue{text: expression, why: w.Why(), from: from}
}

// namesIn returns the names in an expression.
func namesIn(text string) []string {
	var out []string
	for at := 0; at < len(text); {
		if n := nameEnd(text[at:]); n > 0 {
			out = append(out, text[at:at+n])
			at += n
			continue
		}
		at++
	}
	return out
}

// number computes an expression; why is non-empty if the result is unknown.
func (r *runner) number(text string) (n int64, why string) {
	c := calculator{runner: r, text: strings.ReplaceAll(text, `\*`, "*"), source: text}
	n = c.binary(0)
	c.blanks()
	if c.why == "" && c.at < len(c.text) {
		c.fail()
	}
	return n, c.why
}

// calculator evaluates an integer expression as a shell does.
type calculator struct {
	*runner
	text, source string
	at, deep     int
	why          string
}

func (c *calculator) fail() {
	if c.why == "" {
		c.why = shortened(c.source) + " is not understood"
	}
	c.at = len(c.text)
}

func (c *calculator) blanks() {
	for c.at < len(c.text) && strings.IndexByte(" \t\n\r", c.text[c.at]) >= 0 {
		c.at++
	}
}

// levels are the operators by precedence, loosest first.
var levels = [][]string{{"||"}, {"&&"}, {"|"}, {"^"}, {"&"}, {"==", "!="}, {"<=", ">=", "<", ">"}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}}

// binary evaluates operators at a level and tighter ones.
func (c *calculator) binary(level int) int64 {
	if level == len(levels) {
		return c.power()
	}
	left := c.binary(level + 1)
	for c.why == "" {
		op := c.operator(levels[level])
		if op == "" {
			break
		}
		c.at += len(op)
		left = c.apply(op, left, c.binary(level+1))
	}
	if level == 0 && c.why == "" && strings.HasPrefix(c.text[c.at:], "?") {
		return c.conditional(left)
	}
	return left
}

// operator returns the next operator if it is at this level, or "".
func (c *calculator) operator(of []string) string {
	c.blanks()
	rest := c.text[c.at:]
	for _, op := range of {
		if !strings.HasPrefix(rest, op) {
			continue
		}
		after := rest[len(op):]
		if len(op) == 1 && after != "" && (after[0] == op[0] && strings.Contains("*|&<>", op) || after[0] == '=') {
			continue // a longer operator, or an assignment
		}
		return op
	}
	return ""
}

// conditional evaluates the rest of a ? b : c.
func (c *calculator) conditional(condition int64) int64 {
	c.at++
	first := c.nested(func() int64 { return c.binary(0) })
	c.blanks()
	if !strings.HasPrefix(c.text[c.at:], ":") {
		c.fail()
		return 0
	}
	c.at++
	second := c.nested(func() int64 { return c.binary(0) })
	if condition != 0 {
		return first
	}
	return second
}

// nested evaluates a nested expression, within a limit.
func (c *calculator) nested(f func() int64) int64 {
	if c.deep++; c.deep > maxDepth {
		c.fail()
		return 0
	}
	defer func() { c.deep-- }()
	return f()
}

func (c *calculator) apply(op string, a, b int64) int64 {
	truth := func(t bool) int64 {
		if t {
			return 1
		}
		return 0
	}
	switch op {
	case "||":
		return truth(a != 0 || b != 0)
	case "&&":
		return truth(a != 0 && b != 0)
	case "|":
		return a | b
	case "^":
		return a ^ b
	case "&":
		return a & b
	case "==":
		return truth(a == b)
	case "!=":
		return truth(a != b)
	case "<=":
		return truth(a <= b)
	case ">=":
		return truth(a >= b)
	case "<":
		return truth(a < b)
	case ">":
		return truth(a > b)
	case "<<":
		return a << (uint64(b) & 63)
	case ">>":
		return a >> (uint64(b) & 63)
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	}
	if b == 0 || a == -1<<63 && b == -1 {
		c.fail()
		return 0
	}
	if op == "/" {
		return a / b
	}
	return a % b
}

// power evaluates a ** b.
func (c *calculator) power() int64 {
	base := c.unary()
	c.blanks()
	if !strings.HasPrefix(c.text[c.at:], "**") {
		return base
	}
	c.at += 2
	exponent := c.nested(c.power)
	if exponent < 0 || exponent > 64 {
		c.fail()
		return 0
	}
	out := int64(1)
	for range exponent {
		out *= base
	}
	return out
}

func (c *calculator) unary() int64 {
	c.blanks()
	if c.at >= len(c.text) {
		c.fail()
		return 0
	}
	rest := c.text[c.at:]
	switch {
	case strings.HasPrefix(rest, "++"), strings.HasPrefix(rest, "--"):
		c.fail()
		return 0
	case rest[0] == '-', rest[0] == '+', rest[0] == '!', rest[0] == '~':
		c.at++
		n := c.nested(c.unary)
		switch rest[0] {
		case '-':
			return -n
		case '!':
			return c.apply("==", n, 0)
		case '~':
			return ^n
		}
		return n
	case rest[0] == '(':
		c.at++
		n := c.nested(func() int64 { return c.binary(0) })
		c.blanks()
		if !strings.HasPrefix(c.text[c.at:], ")") {
			c.fail()
		}
		c.at = min(c.at+1, len(c.text))
		return n
	}
	return c.operand()
}

// operand evaluates a number or a variable.
func (c *calculator) operand() int64 {
	rest := c.text[c.at:]
	if n := nameEnd(rest); n > 0 {
		c.at += n
		if c.at < len(c.text) && (c.text[c.at] == '[' || strings.HasPrefix(c.text[c.at:], "++") || strings.HasPrefix(c.text[c.at:], "--")) {
			c.fail()
			return 0
		}
		return c.variable(rest[:n])
	}
	n := 0
	for n < len(rest) && (rest[n] >= '0' && rest[n] <= '9' || rest[n]|0x20 >= 'a' && rest[n]|0x20 <= 'z') {
		n++
	}
	number, base := rest[:n], 10
	if len(number) > 1 && number[0] == '0' {
		base = 0
	}
	value, err := strconv.ParseInt(number, base, 64)
	if err != nil || n < len(rest) && (rest[n] == '#' || rest[n] == '.') {
		c.fail()
		return 0
	}
	c.at += n
	return value
}

// variable returns the value of a variable in an expression.
func (c *calculator) variable(name string) int64 {
	v := c.variables[name]
	if v == nil {
		c.why = c.unsetWhy(name)
		c.at = len(c.text)
		return 0
	}
	text, known := textOf(v.scalar())
	if !known {
		c.why = whyOf(v.scalar())
		c.at = len(c.text)
		return 0
	}
	value, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || len(text) > 1 && text[0] == '0' {
		c.fail()
		return 0
	}
	return value
}
