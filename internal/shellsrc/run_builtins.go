// SPDX-License-Identifier: Apache-2.0

package shellsrc

import (
	"slices"
	"strings"
)

// builtin follows a shell builtin; ok is false for other commands.
func (r *runner) builtin(name string, words []Word, s simple) (o outcome, f flow, ok bool) {
	switch name {
	case "exit":
		return yes, exits, true
	case "return":
		return r.returned(words), returns, true
	case "break":
		return yes, breaks, true
	case "continue":
		return yes, continues, true
	case "true", ":":
		return yes, onward, true
	case "false":
		return no, onward, true
	case "[", "test", "[[":
		return r.test(words), onward, true
	case "eval":
		o, f = r.evaluate(words[1:], r.frame)
		return o, f, true
	case "export", "local", "declare", "readonly", "typeset":
		r.declare(name, words, s)
	case "unset":
		for _, w := range words[1:] {
			r.set(w.Known(), nil)
		}
	case "shift":
		r.shift(words)
	case "set":
		r.setOptions(words)
	case "read", "mapfile", "readarray", "getopts":
		return r.readInput(name, words), onward, true
	case "let":
		o = unsure
		for _, w := range words[1:] {
			o = r.arithmeticStatement(w.Pieces)
		}
		return o, onward, true
	case "source", ".":
		o, f = r.source(words)
		return o, f, true
	case "echo", "printf", "cd", "pushd", "popd", "pwd", "wait", "trap", "ulimit", "shopt", "alias", "hash", "umask":
		for _, a := range s.assignments {
			r.attempt(func() { r.assign(a, true) })
		}
		if s.target != nil || len(s.heredocs) > 0 {
			r.record(s, words, nil)
		}
		return succeeded, onward, true
	default:
		return unsure, onward, false
	}
	return yes, onward, true
}

// returned returns the outcome of a function's return statement.
func (r *runner) returned(words []Word) outcome {
	if len(words) < 2 {
		return unsure
	}
	text, known := words[1].Text()
	return truth(text == "0", known)
}

// declare follows export, local and similar commands.
func (r *runner) declare(name string, words []Word, s simple) {
	exports := name == "export" || slices.ContainsFunc(words, func(w Word) bool {
		option := w.Known()
		return strings.HasPrefix(option, "-") && strings.Contains(option, "x")
	})
	for i := range s.words {
		a, assigns := s.declared[i]
		if !assigns {
			continue
		}
		if name == "local" || r.frame.inside && (name == "declare" || name == "typeset") {
			r.frame.locals = append(r.frame.locals, change{a.name, r.variables[a.name]})
		}
		r.assign(a, exports)
	}
	for _, w := range words[1:] {
		if option, _ := words[1].Text(); option == "-A" && r.variables[w.Known()] == nil && nameEnd(w.Known()) > 0 {
			r.set(w.Known(), &variable{isList: true, keys: []string{}, definition: -1})
		}
		if v := r.variables[w.Known()]; v != nil && exports {
			copied := *v
			copied.exported = true
			r.set(w.Known(), &copied)
		}
	}
}

// shift drops arguments.
func (r *runner) shift(words []Word) {
	n := 1
	if len(words) > 1 {
		if count, err := r.number(words[1].Known()); err == "" && count >= 0 {
			n = int(min(count, 1<<16))
		}
	}
	n = min(n, len(r.frame.args))
	if why := manyWhy(r.frame.args[:n]); why != "" {
		r.frame.args = []Word{{Pieces: []Piece{{At: -1, Why: why, many: true}}, Start: -1, End: -1, Raw: `"$@"`}}
		return
	}
	r.frame.args = r.frame.args[n:]
}

// setOptions follows set: set -a exports everything that is assigned, and set -- replaces the arguments.
func (r *runner) setOptions(words []Word) {
	for i, w := range words[1:] {
		switch w.Known() {
		case "-a", "-o allexport":
			r.exportAll = true
		case "+a":
			r.exportAll = false
		case "--":
			r.frame.args, r.frame.caller = slices.Clone(words[i+2:]), false
			return
		}
	}
}

// readInput follows read and similar commands: their input is unknown. Without arguments, getopts finds no options.
func (r *runner) readInput(name string, words []Word) outcome {
	if name == "getopts" {
		return no
	}
	for _, w := range words[1:] {
		if text := w.Known(); nameEnd(text) == len(text) && text != "" {
			why := text + " is read when the script runs"
			lists := name != "read" || slices.ContainsFunc(words, func(w Word) bool { return strings.HasPrefix(w.Known(), "-") && strings.HasSuffix(w.Known(), "a") })
			v := &variable{pieces: unknown(why), definition: -1, isList: lists}
			if lists {
				v.open = why
			}
			r.set(text, v)
		}
	}
	return unsure
}

// source follows a file that the script sources, if it exists. Its text is in another file, and cannot be changed
// here.
func (r *runner) source(words []Word) (outcome, flow) {
	if len(words) < 2 || r.beside == nil || r.depth >= maxCalls {
		return succeeded, onward
	}
	text, ok := r.beside(sourcedName(words[1]))
	if !ok || !r.spend(len(text)) {
		return succeeded, onward
	}
	places := make([]int, len(text))
	for i := range places {
		places[i] = -1
	}
	body, _, err := parse(text, places)
	if err != nil {
		return succeeded, onward
	}
	with := r.frame
	with.locals = nil
	if len(words) > 2 {
		with.args, with.caller = slices.Clone(words[2:]), false
	}
	return r.body(body, with)
}

// sourcedName returns the name of a sourced file, "" if unknown. An unknown folder is probably the script's own:
// $(dirname "$0")/common.sh.
func sourcedName(w Word) string {
	if name, known := w.Text(); known {
		return name
	}
	last := w.Pieces[len(w.Pieces)-1]
	if len(w.Pieces) != 2 || w.Pieces[0].Why == "" || last.Why != "" || !strings.HasPrefix(last.Text, "/") {
		return ""
	}
	return strings.TrimPrefix(last.Text, "/")
}

// assign gives a variable a value and records the assignment.
func (r *runner) assign(a assignment, exported bool) {
	v := &variable{definition: a.start, exported: exported}
	old := r.variables[a.name]
	var value Word
	switch {
	case a.isList:
		r.assignList(v, old, a)
	case a.index != nil:
		value = r.one(a.value)
		v = r.withElement(old, a, value)
	default:
		value = r.one(a.value)
		v.pieces, v.from = value.Pieces, value.From
		if old != nil && old.isList && a.adds {
			v = r.withFirst(old, value)
		} else if a.adds {
			v.pieces, v.from = r.added(old, value)
		}
	}
	r.set(a.name, v)
	r.define(a, v, value)
}

// define records an assignment that is written in the script.
func (r *runner) define(a assignment, v *variable, value Word) {
	if a.start < 0 || r.quiet > 0 {
		return
	}
	d := r.definitions[a.start]
	if d == nil {
		d = &Definition{Name: a.name, At: a.start, IsList: a.isList, Adds: a.adds || a.index != nil}
		r.definitions[a.start] = d
	}
	if a.isList {
		if d.List == nil {
			d.List = v.elements
		}
		return
	}
	if len(d.Values) < 4 && !slices.ContainsFunc(d.Values, func(w Word) bool { return same(w.Pieces, value.Pieces) }) {
		d.Values = append(d.Values, value)
	}
}
