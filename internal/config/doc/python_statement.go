// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"slices"
	"strings"
)

// statement reads an assignment or a call.
func (p *pyParser) statement(into *node, tokens []pyToken) {
	target, value := splitAssignment(tokens)
	if targets, values := unpacked(target, value); targets != nil {
		for i := range targets {
			p.assign(into, targets[i], values[i])
		}
		return
	}
	p.noteParsed(target, value)
	if value == nil {
		p.argument(into, tokens)
		p.trainer(into, tokens)
		p.tokenizer(into, tokens)
		return
	}
	if !isCall(value) {
		p.tokenizer(into, value)
	}
	p.assign(into, target, value)
}

// assign reads the assignment of a value to a, a.b or a["b"].
func (p *pyParser) assign(into *node, target, value []pyToken) {
	steps := targetSteps(target)
	if steps == nil || len(value) == 0 {
		return
	}
	n := fieldDefault(value, p.value(value, 0))
	at := into
	for _, s := range steps[:len(steps)-1] {
		at = p.attribute(at, s)
	}
	last := steps[len(steps)-1]
	if len(steps) == 2 && steps[0].text == "self" {
		if p.own[last.text] = n; n.kind == Expression && n.target == nil {
			delete(p.own, last.text)
		}
	}
	if len(steps) == 2 {
		p.overwritten[steps[0].text+"."+last.text] = true
	}
	p.add(at, entry{key: last.text, keyStart: target[0].start, value: n})
	if len(steps) == 1 && into.style == pyBlock {
		p.names[last.text] = n
	}
}

// fieldDefault returns the default in a dataclass's field(default=8); it returns any other value unchanged.
func fieldDefault(tokens []pyToken, n *node) *node {
	if n.style != pyCall || tokens[0].text != "field" && tokens[0].text != "dataclasses" && tokens[0].text != "Field" {
		return n
	}
	if e, _ := n.own("default"); e != nil {
		return e.value
	}
	return n
}

// add puts an entry into a map.
func (p *pyParser) add(into *node, e entry) {
	into.entries = append(into.entries, e)
	if open := p.open[into]; open != nil && takesAttributes(e.value) {
		open[e.key] = e.value
	}
}

// attribute returns the map that an assignment like a.b = 1 puts b into.
func (p *pyParser) attribute(at *node, name pyToken) *node {
	if n := p.openIn(at)[name.text]; n != nil {
		if n.kind != Map {
			n.kind, n.style = Map, pyAttr
		}
		return n
	}
	n := &node{kind: Map, start: name.start, end: name.end, style: pyAttr}
	p.add(at, entry{key: name.text, keyStart: name.start, value: n})
	return n
}

// openIn returns the objects in a map that can have attributes.
func (p *pyParser) openIn(at *node) map[string]*node {
	if p.open[at] == nil {
		p.open[at] = map[string]*node{}
		for _, e := range at.entries {
			if takesAttributes(e.value) {
				p.open[at][e.key] = e.value
			}
		}
	}
	return p.open[at]
}

// takesAttributes reports whether a value can have attributes: a map, or an expression that only Python
// can evaluate.
func takesAttributes(n *node) bool {
	return n.kind == Map || n.kind == Expression && n.target == nil
}

// argument reads the default of parser.add_argument("--name", default=8).
func (p *pyParser) argument(into *node, tokens []pyToken) {
	for i, t := range tokens {
		if t.text != "add_argument" || i+2 >= len(tokens) || tokens[i+1].text != "(" {
			continue
		}
		call := p.call(tokens[i:])
		name := ""
		for _, a := range tokens[i+2:] {
			if s, ok := pyUnquote(a.text); a.kind == pyString && ok && strings.HasPrefix(s, "-") && a.depth == t.depth+1 {
				if name == "" || strings.HasPrefix(s, "--") && !strings.HasPrefix(name, "--") {
					name = s
				}
			}
		}
		if e, _ := call.own("default"); e != nil && name != "" {
			p.add(into, entry{key: name, keyStart: tokens[i+2].start, value: e.value})
			p.option(attributeOf(name, call), e.value)
		} else if off := switchedOff(call); off != nil && name != "" {
			p.option(attributeOf(name, call), off)
		}
		return
	}
}

// switchedOff returns the value of a flag with action="store_true" or "store_false" that is not given; nil for any
// other flag.
func switchedOff(call *node) *node {
	e, _ := call.own("action")
	if e == nil || e.value.data != "store_true" && e.value.data != "store_false" {
		return nil
	}
	return &node{
		kind: Bool, data: e.value.data == "store_false", start: e.value.start, end: e.value.end, style: pyPlain,
		fixed: "it is the default of a flag that takes no value",
	}
}

// tokenizer reads a truncating tokenizer call whose result is not assigned: return tok(x["text"], truncation=True,
// max_length=256), or the same in a lambda in a chain of calls.
func (p *pyParser) tokenizer(into *node, tokens []pyToken) {
	if !slices.ContainsFunc(tokens, func(t pyToken) bool { return t.text == "truncation" }) {
		return
	}
	for i, t := range tokens[:len(tokens)-1] {
		open := tokens[i+1]
		if t.kind != pyName || open.text != "(" || open.closing == 0 || i+1+open.closing >= len(tokens) {
			continue
		}
		n := &node{start: t.start, end: tokens[i+1+open.closing].end, style: pyCall}
		p.arguments(n, tokens[i:i+2+open.closing], 0)
		has := func(key string) bool { e, _ := n.own(key); return e != nil }
		if has("truncation") && has("max_length") && !has("text_target") {
			p.add(into, entry{key: t.text, keyStart: t.start, value: n})
			return
		}
	}
}

// trainer reads a trainer call whose result is not assigned: its arguments can be a run's whole
// configuration.
func (p *pyParser) trainer(into *node, tokens []pyToken) {
	for i, t := range tokens[:len(tokens)-1] {
		if t.kind != pyName || !strings.HasSuffix(t.text, "Trainer") || tokens[i+1].text != "(" || t.depth > 0 {
			continue
		}
		end := i + 2
		for end < len(tokens) && tokens[end].depth > t.depth {
			end++
		}
		if end == len(tokens) || tokens[end].text != ")" {
			return
		}
		n := &node{start: t.start, end: tokens[end].end, style: pyCall}
		p.arguments(n, tokens[i:end+1], 0)
		p.add(into, entry{key: t.text, keyStart: t.start, value: n})
		return
	}
}
