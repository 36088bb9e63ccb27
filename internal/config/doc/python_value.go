// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"math"
	"strconv"
	"strings"
)

// value returns the node of an expression.
func (p *pyParser) value(tokens []pyToken, depth int) *node {
	if len(tokens) == 0 {
		return &node{kind: Expression, style: pyPlain}
	}
	n := &node{kind: Expression, start: tokens[0].start, end: tokens[len(tokens)-1].end, style: pyPlain}
	if depth > maxDepth {
		return n
	}
	switch {
	case len(tokens) == 1:
		p.single(n, tokens[0])
	case isParenthesized(tokens):
		return p.value(tokens[1:len(tokens)-1], depth+1)
	case enclosed(tokens) && tokens[0].text == "{":
		p.dict(n, tokens, depth)
	case enclosed(tokens):
		p.list(n, tokens, depth)
	case isCall(tokens):
		p.arguments(n, tokens, depth)
	case isSubscript(tokens):
		p.item(n, tokens)
	case isAttribute(tokens) && tokens[0].text == "self" && p.own[tokens[2].text] != nil:
		n.target, n.name = p.own[tokens[2].text].resolve(), tokens[2].text
	case isAttribute(tokens):
		p.passed = append(p.passed, pyPassed{n, tokens[0].text, tokens[2].text})
	default:
		if v, ok := evaluate(tokens); ok {
			n.kind, n.data = Int, v
		} else if f, ok := negativeFloat(tokens); ok {
			n.kind, n.data = Float, f
		}
	}
	return n
}

// single reads an expression of one token into n.
func (p *pyParser) single(n *node, t pyToken) {
	switch t.kind {
	case pyNumber:
		n.kind, n.data = pyNumberOf(t.text)
	case pyString:
		if s, ok := pyUnquote(t.text); ok {
			n.kind, n.data = Text, s
			n.style = t.text[len(t.text)-1:]
			if n.style == t.text[len(t.text)-2:len(t.text)-1] && len(t.text) > 2 || t.text[0] != n.style[0] {
				n.fixed = "it is not a plain quoted string"
			}
		}
	case pyName:
		switch t.text {
		case "True", "False":
			n.kind, n.data = Bool, t.text == "True"
		case "None":
			n.kind = Null
		default:
			if target := p.names[t.text]; target != nil {
				n.target, n.name = target.resolve(), t.text
			}
		}
	}
}

// isSubscript reports whether tokens are name["key"].
func isSubscript(tokens []pyToken) bool {
	return len(tokens) == 4 && tokens[0].kind == pyName && tokens[1].text == "[" && tokens[2].kind == pyString && tokens[3].text == "]"
}

// item reads name["key"] into n, if the file assigns a dict to the name.
func (p *pyParser) item(n *node, tokens []pyToken) {
	dict := p.names[tokens[0].text]
	key, ok := pyUnquote(tokens[2].text)
	if dict == nil || !ok {
		return
	}
	if dict = dict.resolve(); dict.kind != Map {
		return
	}
	if e, _ := dict.own(key); e != nil {
		n.target, n.name = e.value.resolve(), tokens[0].text+"."+key
	}
}

// pyNumberOf returns the kind and value of a number.
func pyNumberOf(text string) (Kind, any) {
	digits := strings.ReplaceAll(text, "_", "")
	if len(digits) > 1 && digits[0] == '0' && isDigit(digits[1]) && !strings.ContainsAny(digits, ".eEjJ") && strings.Trim(digits, "0") != "" {
		return Expression, nil
	}
	if i, err := strconv.ParseInt(digits, 0, 64); err == nil {
		return Int, i
	}
	if f, err := strconv.ParseFloat(digits, 64); err == nil && !strings.ContainsAny(digits, "xX") && !math.IsInf(f, 0) && !math.IsNaN(f) {
		return Float, f
	}
	return Expression, nil
}

// pyUnquote returns the text of a string literal that has no prefix, or a prefix that changes nothing. It returns
// false for other literals.
func pyUnquote(text string) (string, bool) {
	body := strings.TrimLeft(text, "uU")
	if len(body) < 2 || body[0] != '"' && body[0] != '\'' {
		return "", false
	}
	quote := body[:1]
	if len(body) >= 6 && strings.HasPrefix(body, strings.Repeat(quote, 3)) {
		quote = body[:3]
	}
	body = body[len(quote) : len(body)-len(quote)]
	if !strings.Contains(body, `\`) {
		return body, true
	}
	unescaped := strings.NewReplacer(`\\`, `\`, `\'`, `'`, `\"`, `"`)
	if rest := strings.NewReplacer(`\\`, "", `\'`, "", `\"`, "").Replace(body); strings.Contains(rest, `\`) {
		return "", false // an escape that only Python can resolve
	}
	return unescaped.Replace(body), true
}

// enclosed reports whether the first bracket closes at the last token.
func enclosed(tokens []pyToken) bool {
	return tokens[0].closing > 0 && tokens[0].closing == len(tokens)-1
}

// isParenthesized reports whether tokens are one expression in parentheses, not a tuple.
func isParenthesized(tokens []pyToken) bool {
	if len(tokens) < 3 || !enclosed(tokens) || tokens[0].text != "(" {
		return false
	}
	for i := 1; i < len(tokens)-1; i += 1 + tokens[i].closing {
		if tokens[i].text == "," || tokens[i].text == "for" {
			return false
		}
	}
	return true
}

// isCall reports whether tokens are name(…) or a.b.name(…).
func isCall(tokens []pyToken) bool {
	for i, t := range tokens {
		switch {
		case t.text == "(" && i > 0:
			return enclosed(tokens[i:])
		case i%2 == 0 && t.kind != pyName, i%2 == 1 && t.text != ".":
			return false
		}
	}
	return false
}

// call returns the keyword arguments of name(…), as a map.
func (p *pyParser) call(tokens []pyToken) *node {
	n := &node{kind: Map, style: pyCall}
	p.arguments(n, tokens[:2+tokens[1].closing], 0)
	return n
}

func (p *pyParser) arguments(n *node, tokens []pyToken, depth int) {
	n.kind, n.style = Map, pyCall
	open := 0
	for tokens[open].text != "(" {
		open++
	}
	for _, part := range parts(tokens[open:]) {
		if len(part) > 2 && part[0].kind == pyName && part[1].text == "=" {
			if body := lambdaBody(part[2:]); len(body) > 0 && part[0].text == "default_factory" { // of a dataclass's field
				n.entries = append(n.entries, entry{key: "default", keyStart: part[0].start, value: p.value(body, depth+1)})
				continue
			}
			n.entries = append(n.entries, entry{key: part[0].text, keyStart: part[0].start, value: p.value(part[2:], depth+1)})
			continue
		}
		if body := lambdaBody(part); len(body) > 0 && isCall(body) {
			n.entries = append(n.entries, entry{key: "lambda", keyStart: part[0].start, value: p.value(body, depth+1)})
		}
		if class := madeClass(part); class != "" { // get_peft_model(model, LoraConfig(r=8))
			n.entries = append(n.entries, entry{key: class, keyStart: part[0].start, value: p.value(part, depth+1)})
		}
	}
}

// madeClass returns the name of the settings class that an expression creates, such as LoraConfig or TrainingArguments; ""
// for anything else.
func madeClass(tokens []pyToken) string {
	if !isCall(tokens) {
		return ""
	}
	open := 0
	for tokens[open].text != "(" {
		open++
	}
	if name := tokens[open-1].text; strings.HasSuffix(name, "Config") || strings.HasSuffix(name, "Arguments") {
		return name
	}
	return ""
}

// lambdaBody returns the body of a lambda without default arguments, such as a tokenizer call; nil for anything else.
func lambdaBody(tokens []pyToken) []pyToken {
	if tokens[0].text != "lambda" {
		return nil
	}
	for i, t := range tokens {
		switch t.text {
		case "=":
			return nil
		case ":":
			return tokens[i+1:]
		}
	}
	return nil
}

// parts splits the contents of brackets at the commas.
func parts(tokens []pyToken) [][]pyToken {
	var all [][]pyToken
	begin, last := 1, len(tokens)-1
	for i := 1; i <= last; i += 1 + tokens[i].closing {
		if i == last || tokens[i].text == "," {
			if i > begin {
				all = append(all, tokens[begin:i])
			}
			begin = i + 1
		}
	}
	return all
}

// dict reads {"a": 1}. A comprehension or a set stays an expression.
func (p *pyParser) dict(n *node, tokens []pyToken, depth int) {
	var entries []entry
	for _, part := range parts(tokens) {
		if part[0].text == "**" {
			continue
		}
		if len(part) < 3 || part[1].text != ":" || comprehension(part) {
			return
		}
		key := part[0].text
		if part[0].kind == pyString {
			var ok bool
			if key, ok = pyUnquote(key); !ok {
				return
			}
		}
		entries = append(entries, entry{key: key, keyStart: part[0].start, value: p.value(part[2:], depth+1)})
	}
	n.kind, n.style, n.entries = Map, pyDict, entries
}

// list reads [1, 2] and (1, 2).
func (p *pyParser) list(n *node, tokens []pyToken, depth int) {
	all := parts(tokens)
	if tokens[0].text == "(" && len(all) == 1 && tokens[len(tokens)-2].text != "," {
		if v, ok := evaluate(tokens); ok {
			n.kind, n.data = Int, v
		}
		return
	}
	if len(all) > 0 && comprehension(all[0]) {
		return
	}
	n.kind = List
	for i, part := range all {
		v := p.value(part, depth+1)
		n.entries = append(n.entries, entry{key: strconv.Itoa(i), keyStart: v.start, value: v})
	}
}

func comprehension(tokens []pyToken) bool {
	for i := 0; i < len(tokens); i += 1 + tokens[i].closing {
		if tokens[i].kind == pyName && tokens[i].text == "for" {
			return true
		}
	}
	return false
}

// negativeFloat reads -0.5.
func negativeFloat(tokens []pyToken) (float64, bool) {
	if len(tokens) != 2 || tokens[0].text != "-" || tokens[1].kind != pyNumber {
		return 0, false
	}
	_, v := pyNumberOf(tokens[1].text)
	f, ok := v.(float64)
	return -f, ok
}
