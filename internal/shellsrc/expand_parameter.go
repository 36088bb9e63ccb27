// SPDX-License-Identifier: Apache-2.0

package shellsrc

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// value returns the expansion of a word's part.
func (r *runner) value(p part) expanded {
	switch p.kind {
	case paramPart:
		return r.parameter(p)
	case outputPart:
		return expanded{pieces: r.output(p)}
	case arithmeticPart:
		text := r.arithmeticText(p)
		n, why := r.number(text.text)
		if text.why != "" || why != "" {
			return expanded{pieces: unknown(firstOf(text.why, why)), from: text.from}
		}
		return expanded{pieces: computed(strconv.FormatInt(n, 10)), from: text.from}
	}
	return expanded{pieces: unknown("the output of " + shortened(p.raw) + " is not known")}
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// parameter expands $x and ${x…}.
func (r *runner) parameter(p part) expanded {
	if p.op == "unknown" {
		return expanded{pieces: unknown(shortened(p.raw) + " is not understood")}
	}
	if p.op == "indirect" {
		return r.indirect(p)
	}
	v := r.lookUp(p)
	if joins := p.text == "*" || p.index != nil && p.index.raw == "*"; joins && p.quoted && v.several && p.op != "length" {
		v = expanded{pieces: v.asText(), from: v.from}
	}
	switch p.op {
	case "":
		return v
	case "length":
		return r.length(v)
	case ":-", "-", ":=", "=":
		return r.fallback(p, v)
	case ":+", "+":
		text, known := textOf(v.asText())
		switch {
		case !known && allAbsent(v.asText()), known && text == "" && (p.op == ":+" || len(v.pieces) == 0 && !v.several):
			return expanded{}
		case known:
			return r.argument(p)
		}
		return v.opaque()
	case ":?", "?":
		return v
	}
	text, known := textOf(v.asText())
	if !known {
		return v.opaque()
	}
	if v.several {
		return r.eachChanged(p, v)
	}
	return expanded{pieces: r.changed(p, text, v.pieces), from: v.from}
}

// opaque returns the value with its text made unknown.
func (v expanded) opaque() expanded {
	return expanded{pieces: manyWords(unknown(whyOf(v.asText()))), from: v.from}
}

// argument expands the text after the operator in ${x:-…}.
func (r *runner) argument(p part) expanded {
	w := r.one(word{parts: p.arg})
	return expanded{pieces: w.Pieces, from: w.From}
}

// fallback expands ${x:-value} and ${x:=value}: the value applies unless the script sets x.
func (r *runner) fallback(p part, v expanded) expanded {
	text, known := textOf(v.asText())
	absent := !known && allAbsent(v.asText())
	if known && (text != "" || !strings.HasPrefix(p.op, ":") && (v.pieces != nil || r.variables[p.text] != nil)) || !known && !absent {
		return v
	}
	out := r.argument(p)
	if strings.HasSuffix(p.op, "=") && nameEnd(p.text) == len(p.text) {
		r.set(p.text, &variable{pieces: out.pieces, from: out.from, definition: -1})
	}
	return out
}

// allAbsent reports whether a text is unknown only because the caller may set it.
func allAbsent(pieces []Piece) bool {
	return len(pieces) == 1 && pieces[0].absent
}

// indirect expands ${!x}, the variable whose name is in x.
func (r *runner) indirect(p part) expanded {
	if p.index != nil {
		if v := r.variables[p.text]; v != nil && v.isList && v.open == "" {
			return keysOf(v)
		}
	}
	name, known := textOf(r.lookUp(part{text: p.text}).pieces)
	if !known || parameterEnd(name) != len(name) || name == "" {
		return expanded{pieces: unknown(shortened(p.raw) + " is not known")}
	}
	return r.lookUp(part{text: name})
}

func keysOf(v *variable) expanded {
	out := expanded{several: true}
	for i := range v.elements {
		key := strconv.Itoa(i)
		if v.keys != nil {
			key = v.keys[i]
		}
		out.words = append(out.words, Word{Pieces: computed(key), Start: -1, End: -1})
	}
	return out
}

// lookUp returns a parameter's value.
func (r *runner) lookUp(p part) expanded {
	switch {
	case p.text == "@" || p.text == "*":
		return r.arguments()
	case p.text == "#":
		if r.frame.caller {
			r.assumed = true
		}
		if why := manyWhy(r.frame.args); why != "" {
			return expanded{pieces: unknown(why)}
		}
		return expanded{pieces: computed(strconv.Itoa(len(r.frame.args)))}
	case p.text == "":
		return expanded{pieces: unknown(shortened(p.raw) + " is not understood")}
	case nameEnd(p.text) == 0:
		return r.positional(p.text)
	}
	v := r.variables[p.text]
	if v == nil && p.text == "PWD" {
		return expanded{pieces: computed(".")} // the working directory, whatever its path
	}
	if v == nil {
		unset := []Piece{{At: -1, absent: true, Why: r.unsetWhy(p.text)}}
		if p.index != nil && (p.index.raw == "@" || p.index.raw == "*") {
			return expanded{several: true, words: []Word{{Pieces: manyWords(unset), Start: -1, End: -1, Raw: p.raw}}}
		}
		return expanded{pieces: unset}
	}
	from := mergedFrom(v.from, []int{v.definition})
	if p.index != nil {
		out := r.element(p, v)
		out.from = from
		return out
	}
	return expanded{pieces: v.scalar(), from: from}
}

// unsetWhy returns why a variable has no value here.
func (r *runner) unsetWhy(name string) string {
	if r.assigned[name] {
		return name + " is not set at this point of the script"
	}
	return name + " is not set in the script"
}

// element expands ${x[i]} and ${x[@]}.
func (r *runner) element(p part, v *variable) expanded {
	if p.index.raw == "@" || p.index.raw == "*" {
		out := expanded{several: true, words: v.elements}
		switch {
		case !v.isList && v.pieces != nil:
			out.words = []Word{{Pieces: manyWords(v.pieces), Start: -1, End: -1, Raw: p.raw}}
		case v.open != "":
			out.words = append(slices.Clip(v.elements), Word{Pieces: []Piece{{At: -1, Why: v.open, many: true}}, Start: -1, End: -1, Raw: p.raw})
		}
		r.spend(len(out.words) / 4)
		return out
	}
	key, known := textOf(r.joined(p.index.parts))
	i := slices.Index(v.keys, key)
	if v.keys == nil && known {
		n, why := r.number(key)
		if known = why == ""; known {
			i = int(min(max(n, -1), 1<<20))
		}
	}
	switch {
	case !known || v.open != "" && (i < 0 || i >= len(v.elements)):
		return expanded{pieces: unknown(shortened(p.raw) + " is not known")}
	case !v.isList && i == 0:
		return expanded{pieces: v.pieces}
	case manyWhy(v.elements[:min(max(i+1, 0), len(v.elements))]) != "":
		return expanded{pieces: unknown(shortened(p.raw) + " is not known")}
	case i < 0 || i >= len(v.elements):
		return expanded{}
	}
	return expanded{pieces: v.elements[i].Pieces}
}

// manyWords returns a text whose unknown pieces may be any number of words, because they may be lists.
func manyWords(pieces []Piece) []Piece {
	if whyOf(pieces) == "" {
		return pieces
	}
	out := slices.Clone(pieces)
	for i := range out {
		out[i].many = out[i].Why != ""
	}
	return out
}

// arguments expands $@.
func (r *runner) arguments() expanded {
	out := expanded{several: true, words: r.frame.args}
	if r.frame.caller {
		why := fmt.Sprintf("the arguments of %s are not known", r.frame.of)
		out.words = append(slices.Clip(out.words), Word{Pieces: []Piece{{At: -1, Why: why, many: true, absent: true}}, Start: -1, End: -1, Raw: `"$@"`})
	}
	return out
}

// manyWhy returns why the number of words is unknown, or "".
func manyWhy(words []Word) string {
	for _, w := range words {
		if w.Many() {
			return w.Why()
		}
	}
	return ""
}

// positional expands $1, $? and similar parameters.
func (r *runner) positional(name string) expanded {
	n, err := strconv.Atoi(name)
	switch {
	case err != nil:
		return expanded{pieces: unknown("$" + name + " is known only when the script runs")}
	case n == 0:
		return expanded{pieces: unknown("the path of the script is not known")}
	case manyWhy(r.frame.args[:min(n, len(r.frame.args))]) != "":
		return expanded{pieces: unknown(manyWhy(r.frame.args))}
	case n <= len(r.frame.args):
		return expanded{pieces: r.frame.args[n-1].Pieces, from: r.frame.args[n-1].From}
	case !r.frame.caller:
		return expanded{}
	}
	return expanded{pieces: []Piece{{At: -1, absent: true, argument: true, Why: fmt.Sprintf("argument %d of %s has no default", n, r.frame.of)}}}
}
