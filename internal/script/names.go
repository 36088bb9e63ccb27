// SPDX-License-Identifier: Apache-2.0

package script

import (
	"strconv"
	"strings"

	"snug/internal/pysrc"
)

// Variables that a script reaches by name: globals(), locals(), exec and ast.literal_eval, as scripts without argparse
// do to read their settings from the command line.

func registerNames() {
	natives["builtins.globals"] = func(in *interpreter, _ arguments) value { return namesOf(in.scope().globals) }
	natives["builtins.locals"] = func(in *interpreter, _ arguments) value { return namesOf(in.scope()) }
	natives["builtins.exec"] = executes
	natives["builtins.eval"] = evaluates(false)
	natives["ast.literal_eval"] = evaluates(true)
}

// namesOf returns the variables of a scope, which assignments to the result change too.
func namesOf(s *scope) value {
	s.vars.names = true
	return hold(&s.vars)
}

// assigned returns the value that a variable gets if it is assigned by name. Scripts assign sizes from the command line
// so.
func (in *interpreter) assigned(key, v value) value {
	name, ok := key.(string)
	if !ok {
		return v
	}
	in.sawSize(name, v, in.place())
	return in.sizeOfArgument(name, in.resized(name, v), true)
}

// assignAll implements globals().update(…).
func (in *interpreter) assignAll(d *dict, a arguments) {
	from := toDict(in, a)
	in.pend(from)
	for i, k := range from.(*dict).keys {
		d.set(k, in.assigned(k, hold(from.(*dict).vals[i])))
	}
	drop(from)
}

// executes implements exec(text) in the current scope.
func executes(in *interpreter, a arguments) value {
	text, ok := a.or(0, "source", nil).(string)
	if !ok {
		in.note("the code that exec runs is not known; it is not followed")
		return nil
	}
	f, err := pysrc.Parse("<exec>", []byte(text))
	if err != nil {
		in.note("the code that exec runs cannot be read (%v); it is not followed", err)
		return nil
	}
	at := in.at
	in.block(f.Body)
	in.at = at
	return nil
}

// evaluates implements eval(text) of an expression, and ast.literal_eval(text). Scripts keep a text that is no literal as
// it is.
func evaluates(literals bool) func(*interpreter, arguments) value {
	return func(in *interpreter, a arguments) value {
		text, ok := a.or(0, "source", nil).(string)
		if !ok {
			return unknown{}
		}
		if v, ok := literalValue(text); ok {
			return v
		}
		f, err := pysrc.Parse("<eval>", []byte(strings.TrimSpace(text)+"\n"))
		if err != nil || len(f.Body) != 1 {
			return text
		}
		s, ok := f.Body[0].(*pysrc.ExprStmt)
		if !ok {
			return text
		}
		if _, name := s.X.(*pysrc.Name); name && literals {
			return text
		}
		return in.eval1(s.X)
	}
}

// literalValue returns the value of a number, True, False or None.
func literalValue(text string) (value, bool) {
	switch text {
	case "True":
		return true, true
	case "False":
		return false, true
	case "None":
		return nil, true
	}
	if n, err := strconv.Atoi(text); err == nil {
		return n, true
	}
	if x, err := strconv.ParseFloat(text, 64); err == nil && strings.ContainsAny(text[:1], "0123456789.-+") {
		return x, true
	}
	return nil, false
}
