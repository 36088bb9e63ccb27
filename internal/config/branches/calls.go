// SPDX-License-Identifier: Apache-2.0

package branches

import (
	"strings"

	"snug/internal/pysrc"
)

// Name is a dotted name without a value of its own, such as torch.float16, as the value of an expression.
type Name string

// Result is what a function of the program returns, as the value of an expression.
type Result string

// Call is an executed call.
type Call struct {
	Line int // in the program
	// Args are the keyword arguments whose values are known: a string, float64, bool, nil, Name, Result, or a list of them.
	Args map[string]any
	// Passed are the names of all keyword arguments.
	Passed map[string]bool
	// Whole means that Passed is complete.
	Whole bool
	// Undecided means that it is not known whether the call is executed.
	Undecided bool
}

// Calls returns the executed calls of a function, class or method, by the last part of its name.
func (p *Program) Calls(name string) []Call { return p.calls[name] }

// Skips reports whether the program calls a function, class or method only in code that is not executed.
func (p *Program) Skips(name string) bool { return p.named[name] && len(p.calls[name]) == 0 }

// Function returns the text of a function of the program from its first statement on; "" if there is none.
func (p *Program) Function(name string) string { return p.bodies[name] }

// collect returns the executed calls by name.
func (r *reading) collect() map[string][]Call {
	out := map[string][]Call{}
	for _, c := range r.found.all {
		name := lastName(c.Func)
		if name == "" {
			continue
		}
		x := Call{Line: c.At().Line, Args: map[string]any{}, Passed: map[string]bool{}, Whole: true, Undecided: c.undecided}
		x.add(scope{r, c.by, 0}, c.Args)
		out[name] = append(out[name], x)
	}
	return out
}

// add adds the keyword arguments of a call, and those in a dict that is passed with **.
func (x *Call) add(s scope, args []pysrc.Arg) {
	for _, a := range args {
		switch {
		case a.Stars == 2:
			x.unpack(s, a.Value)
		case a.Stars == 1:
			x.Whole = false
		case a.Name != "":
			x.put(a.Name, s.value(a.Value))
		}
	}
}

func (x *Call) put(name string, v value) {
	x.Passed[name] = true
	if data, is := export(v); is {
		x.Args[name] = data
	}
}

// unpack adds the entries of a dict: a display, a call of dict, or a variable that is assigned one and not changed.
func (x *Call) unpack(s scope, e pysrc.Expr) {
	if name, is := e.(*pysrc.Name); is {
		all, in := s.assignments(name.ID)
		if len(all) != 1 || all[0].value == nil {
			x.Whole = false
			return
		}
		s.in, e = in, all[0].value
	}
	switch e := e.(type) {
	case *pysrc.Dict:
		for i, k := range e.Keys {
			if key, is := k.(*pysrc.Str); is {
				x.put(key.Value, s.value(e.Values[i]))
			} else {
				x.Whole = false
			}
		}
	case *pysrc.Call:
		if f, is := e.Func.(*pysrc.Name); is && f.ID == "dict" {
			x.add(s, e.Args)
			return
		}
		x.Whole = false
	default:
		x.Whole = false
	}
}

// export returns a value as Call.Args has it.
func export(v value) (any, bool) {
	list, is := v.data.([]value)
	if !is || !v.known {
		return v.data, v.known
	}
	var out []any
	for _, e := range list {
		x, known := export(e)
		if !known {
			return nil, false
		}
		out = append(out, x)
	}
	return out, true
}

// lastName returns the last part of a dotted name.
func lastName(e pysrc.Expr) string {
	switch e := e.(type) {
	case *pysrc.Name:
		return e.ID
	case *pysrc.Attribute:
		return e.Name
	}
	return ""
}

// dotted returns a dotted name that begins with an imported module's name; "" for other expressions.
func dotted(e pysrc.Expr) string {
	switch e := e.(type) {
	case *pysrc.Name:
		if e.ID == "torch" {
			return e.ID
		}
	case *pysrc.Attribute:
		if x := dotted(e.X); x != "" {
			return x + "." + e.Name
		}
	}
	return ""
}

// functionTexts returns the texts of the module's functions, without the parts that are not executed.
func (r *reading) functionTexts(executed string) map[string]string {
	out := map[string]string{}
	for i, s := range r.file.Body {
		f, is := s.(*pysrc.FunctionDef)
		if !is {
			continue
		}
		end := pysrc.Pos{Line: len(r.lines) + 1, Col: 1}
		if i+1 < len(r.file.Body) {
			end = r.file.Body[i+1].At()
		}
		out[f.Name] = strings.TrimSpace(executed[r.offset(f.Body[0].At()):r.offset(end)])
	}
	return out
}
