// SPDX-License-Identifier: Apache-2.0

package branches

import (
	"slices"
	"strings"

	"snug/internal/pysrc"
)

// reading is a program while it is read. Each pass starts from the results of the previous one.
type reading struct {
	file  *pysrc.File
	text  string
	lines []int // where each line begins
	given map[string]any

	declared  map[string]value     // the defaults of arguments
	functions map[string]*function // of the module, by name; nil for a name with several

	reads     int
	mentioned map[string]int // how often the whole program mentions a function
	found     results        // of this pass
	before    results        // of the previous pass

	conditions []condition
	unused     []span
	named      map[string]bool // the names of all calls
}

// function is a function of the module.
type function struct {
	*pysrc.FunctionDef
	command bool // its parameters are the program's arguments
}

// results are what one pass finds in the executed part.
type results struct {
	mentions map[string][]mention              // of functions
	assigned map[*function]map[string][]assign // nil is the module
	calls    map[string][]call                 // of functions of the module
	all      []call
	changed  map[string]bool // arguments that the program assigns
}

// mention is a place that mentions a function.
type mention struct {
	under *Condition // the undecided condition around it, if any
}

// assign is an assignment to a name; nil if its value is not a plain expression.
type assign struct{ value pysrc.Expr }

// call is a call, and the function that makes it.
type call struct {
	*pysrc.Call
	by        *function
	undecided bool
}

func newReading(file *pysrc.File, text string, given map[string]any) *reading {
	r := &reading{file: file, text: text, lines: []int{0}, given: given, declared: map[string]value{}, functions: map[string]*function{}}
	for i := range len(text) {
		if text[i] == '\n' {
			r.lines = append(r.lines, i+1)
		}
	}
	for _, s := range file.Body {
		if f, is := s.(*pysrc.FunctionDef); is {
			_, twice := r.functions[f.Name]
			r.functions[f.Name] = &function{FunctionDef: f, command: isCommand(f)}
			if twice {
				r.functions[f.Name] = nil
			}
		}
	}
	return r
}

// isCommand reports whether a decorator turns a function's parameters into flags.
func isCommand(f *pysrc.FunctionDef) bool {
	return slices.ContainsFunc(f.Decorators, func(e pysrc.Expr) bool {
		if c, is := e.(*pysrc.Call); is {
			e = c.Func
		}
		switch x := e.(type) {
		case *pysrc.Name:
			return x.ID == "call_parse" // fastcore
		case *pysrc.Attribute:
			return x.Name == "command"
		}
		return false
	})
}

// again reads the program once more. It reports whether another pass may find more.
func (r *reading) again() bool {
	first, parts := r.reads == 0, len(r.unused)
	r.reads++
	r.before, r.found = r.found, results{map[string][]mention{}, map[*function]map[string][]assign{}, map[string][]call{}, nil, map[string]bool{}}
	r.conditions, r.unused = nil, nil
	v := visit{r: r, everything: first}
	v.block(r.file.Body, pysrc.Pos{Line: len(r.lines) + 1, Col: 1})
	if first {
		r.mentioned, r.named = map[string]int{}, map[string]bool{}
		for _, c := range r.found.all {
			r.named[lastName(c.Func)] = true
		}
		for name, all := range r.found.mentions {
			r.mentioned[name] = len(all)
		}
		return true
	}
	return parts != len(r.unused) || r.before.size() != r.found.size()
}

// size counts the results.
func (x results) size() int {
	n := len(x.changed)
	for _, all := range x.mentions {
		n += len(all)
		for _, m := range all {
			if m.under != nil {
				n++
			}
		}
	}
	for _, names := range x.assigned {
		for _, a := range names {
			n += len(a)
		}
	}
	return n
}

// runs reports whether a function of the module is executed, and under which undecided condition.
func (r *reading) runs(name string) (bool, *Condition) {
	if r.functions[name] == nil || r.mentioned[name] == 0 {
		return true, nil
	}
	var under *Condition
	for _, m := range r.before.mentions[name] {
		if m.under == nil {
			return true, nil
		}
		under = m.under
	}
	return under != nil, under
}

// visit goes through the executed statements of a function or of the module.
type visit struct {
	r          *reading
	in         *function
	under      *Condition
	everything bool // the first pass: nothing is decided
}

// block visits statements up to a position, and reports whether they always leave the block.
func (v visit) block(body []pysrc.Stmt, end pysrc.Pos) bool {
	for i, s := range body {
		next := end
		if i+1 < len(body) {
			next = body[i+1].At()
		}
		if v.statement(s, next) && !v.everything {
			if i+1 < len(body) {
				v.drop(body[i+1], end)
			}
			return true
		}
	}
	return false
}

// drop records that the statements from one to a position are not executed.
func (v visit) drop(first pysrc.Stmt, end pysrc.Pos) {
	v.r.unused = append(v.r.unused, v.r.block(first, end))
}

// statement visits a statement, and reports whether execution never continues after it.
func (v visit) statement(s pysrc.Stmt, end pysrc.Pos) (leaves bool) {
	switch s := s.(type) {
	case *pysrc.If:
		return v.choice(s, end)
	case *pysrc.Match:
		v.expr(s.Subject)
		v.cases(s, end)
	case *pysrc.FunctionDef:
		v.function(s, end)
	case *pysrc.ClassDef:
		v.block(s.Body, end)
	case *pysrc.Return, *pysrc.Raise, *pysrc.Break, *pysrc.Continue:
		v.parts(s, end)
		return true
	case *pysrc.With:
		for _, i := range s.Items {
			v.expr(i.X)
			v.target(i.As, nil)
		}
		return v.block(s.Body, end)
	case *pysrc.ExprStmt:
		v.expr(s.X)
		return exits(s.X)
	default:
		v.assignment(s)
		v.parts(s, end)
	}
	return false
}

// parts visits the expressions and blocks of a statement whose blocks may all be executed.
func (v visit) parts(s pysrc.Stmt, end pysrc.Pos) {
	var blocks [][]pysrc.Stmt
	pysrc.Parts(s, v.expr, func(b []pysrc.Stmt) {
		if len(b) > 0 {
			blocks = append(blocks, b)
		}
	})
	for i, b := range blocks {
		next := end
		if i+1 < len(blocks) {
			next = blocks[i+1][0].At()
		}
		v.block(b, next)
	}
}

// exits reports whether an expression ends the program.
func exits(e pysrc.Expr) bool {
	c, is := e.(*pysrc.Call)
	if !is {
		return false
	}
	switch f := c.Func.(type) {
	case *pysrc.Name:
		return f.ID == "exit" || f.ID == "quit"
	case *pysrc.Attribute:
		x, is := f.X.(*pysrc.Name)
		return is && x.ID == "sys" && f.Name == "exit"
	}
	return false
}

// function visits the body of a function, if it is executed.
func (v visit) function(f *pysrc.FunctionDef, end pysrc.Pos) {
	for _, d := range f.Decorators {
		v.expr(d)
	}
	for _, p := range f.Params {
		v.expr(p.Default)
	}
	own := v.r.functions[f.Name]
	if v.in != nil || own == nil || own.FunctionDef != f {
		v.block(f.Body, end) // its names count as those of the function around it
		return
	}
	runs, under := v.r.runs(f.Name)
	if !runs && !v.everything {
		v.drop(f.Body[0], end)
		return
	}
	inner := visit{r: v.r, in: own, under: v.under, everything: v.everything}
	if under != nil && !v.everything {
		inner = inner.depending(f.Body[0], end, *under)
	}
	inner.block(f.Body, end)
}

// depending returns a visit of statements that depend on an undecided condition.
func (v visit) depending(first pysrc.Stmt, end pysrc.Pos, c Condition) visit {
	s := v.r.block(first, end)
	v.r.conditions = append(v.r.conditions, condition{s.from.Line, max(s.to.Line, s.from.Line+1), c})
	v.under = &c
	return v
}

// choice visits the branches of an if that may be executed.
func (v visit) choice(s *pysrc.If, end pysrc.Pos) bool {
	v.expr(s.Test)
	middle := end
	if len(s.Else) > 0 {
		middle = s.Else[0].At()
	}
	test := v.truth(s.Test)
	if v.everything {
		test = undecided
	}
	switch test {
	case yes:
		if len(s.Else) > 0 {
			v.drop(s.Else[0], end)
		}
		return v.block(s.Then, middle)
	case no:
		v.drop(s.Then[0], middle)
		return v.block(s.Else, end)
	}
	c := Condition{s.At().Line, v.arguments(s.Test)}
	then, other := v.depending(s.Then[0], middle, c), v
	if len(s.Else) > 0 {
		other = v.depending(s.Else[0], end, c)
	}
	a := then.block(s.Then, middle)
	return other.block(s.Else, end) && a && len(s.Else) > 0
}

// cases visits the cases of a match that may be executed.
func (v visit) cases(s *pysrc.Match, end pysrc.Pos) {
	subject := v.value(s.Subject)
	done := false
	for i, c := range s.Cases {
		next := end
		if i+1 < len(s.Cases) {
			next = s.Cases[i+1].Body[0].At()
		}
		test := undecided
		if c.Pattern != nil && c.Guard == nil {
			test = equal(subject, v.value(c.Pattern))
		} else if c.Any && c.Guard == nil {
			test = yes
		}
		if !v.everything && (done || test == no) {
			v.drop(c.Body[0], next)
			continue
		}
		done = done || test == yes && (subject.known || c.Any)
		v.block(c.Body, next)
	}
}

// assignment records what a statement assigns.
func (v visit) assignment(s pysrc.Stmt) {
	switch s := s.(type) {
	case *pysrc.Assign:
		for _, t := range s.Targets {
			v.target(t, s.Value)
		}
	case *pysrc.AnnAssign:
		if s.Value != nil {
			v.target(s.Target, s.Value)
		}
	case *pysrc.AugAssign:
		v.target(s.Target, nil)
	case *pysrc.For:
		v.target(s.Target, nil)
	}
}

// target records an assignment to a target; value is nil if it is not known.
func (v visit) target(t, value pysrc.Expr) {
	switch t := t.(type) {
	case *pysrc.Name:
		names := v.r.found.assigned[v.in]
		if names == nil {
			names = map[string][]assign{}
			v.r.found.assigned[v.in] = names
		}
		names[t.ID] = append(names[t.ID], assign{value})
	case *pysrc.Subscript:
		v.target(t.X, nil)
	case *pysrc.Attribute:
		if isArguments(t.X) {
			v.r.found.changed[plain(t.Name)] = true
		}
	case *pysrc.Tuple:
		for _, e := range t.Elts {
			v.target(e, nil)
		}
	case *pysrc.List:
		for _, e := range t.Elts {
			v.target(e, nil)
		}
	case *pysrc.Starred:
		v.target(t.X, nil)
	}
}

// expr records the functions that an expression mentions and calls. It blanks the name that begins a branch of a
// conditional expression that is not executed.
func (v visit) expr(e pysrc.Expr) {
	switch e := e.(type) {
	case nil:
		return
	case *pysrc.Name:
		v.mention(e.ID)
	case *pysrc.Walrus:
		v.target(&pysrc.Name{Pos: e.Pos, ID: e.Name}, e.Value)
	case *pysrc.Call:
		c := call{e, v.in, v.under != nil}
		v.r.found.all = append(v.r.found.all, c)
		if f, is := e.Func.(*pysrc.Name); is && v.r.functions[f.ID] != nil {
			v.r.found.calls[f.ID] = append(v.r.found.calls[f.ID], c)
		}
		v.starts(e)
	case *pysrc.Conditional:
		if t := v.truth(e.Test); t != undecided && !v.everything {
			v.expr(e.Test)
			taken, not := e.Then, e.Else
			if t == no {
				taken, not = e.Else, e.Then
			}
			v.expr(taken)
			v.dropWord(not.At())
			return
		}
	}
	pysrc.ExprParts(e, v.expr)
}

// mention records that a function of the module is mentioned, other than by itself.
func (v visit) mention(name string) {
	f := v.r.functions[name]
	if f == nil || f == v.in {
		return
	}
	v.r.found.mentions[name] = append(v.r.found.mentions[name], mention{v.under})
}

// starts records a call that makes a function's parameters the program's flags: fire.Fire(main), typer.run(main).
func (v visit) starts(c *pysrc.Call) {
	if len(c.Args) == 0 {
		return
	}
	name, named := c.Args[0].Value.(*pysrc.Name)
	if named && startsCommand(c.Func) && v.r.functions[name.ID] != nil {
		v.r.functions[name.ID].command = true
	}
}

// startsCommand reports whether a function gets a program's main function and passes it the flags.
func startsCommand(f pysrc.Expr) bool {
	if name, is := f.(*pysrc.Name); is {
		return name.ID == "Fire"
	}
	a, is := f.(*pysrc.Attribute)
	if !is {
		return false
	}
	x, is := a.X.(*pysrc.Name)
	return is && (x.ID == "fire" && a.Name == "Fire" || x.ID == "typer" && a.Name == "run" || x.ID == "tyro" && a.Name == "cli")
}

// dropWord records that the name at a position is not executed.
func (v visit) dropWord(at pysrc.Pos) {
	rest := v.r.line(at.Line)[at.Col-1:]
	n := strings.IndexFunc(rest, func(c rune) bool {
		return c != '_' && c != '.' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z')
	})
	if n < 0 {
		n = len(rest)
	}
	v.r.unused = append(v.r.unused, span{at, pysrc.Pos{Line: at.Line, Col: at.Col + n}})
}
