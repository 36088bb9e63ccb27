// SPDX-License-Identifier: Apache-2.0

package shellsrc

import (
	"fmt"
	"sort"
	"strings"
)

// Script is the result of following a script from beginning to end.
type Script struct {
	Commands    []Command    // the commands it starts, in script order
	Definitions []Definition // its assignments, in script order
	Words       []RawWord    // the words of all commands and arrays, as written
}

// Command is a command that a script starts. A command in a loop or a function appears once for each way in which it
// is started.
type Command struct {
	At    int    // where it begins in the script; -1 if it is assembled from parts
	Words []Word // expanded
	// Environment lists the offsets of the assignments in the command's environment.
	Environment []int
	// Maybe means that the command may not be started, depending on something unknown.
	Maybe bool
	// Writes is the file that receives the command's output, and Input its here-document.
	Writes, Input Word
}

// Definition is an assignment. In a loop or a function it may assign several values.
type Definition struct {
	Name   string // the variable
	At     int    // where it begins in the script
	Values []Word // the distinct values, in order
	List   []Word // the elements of name=(…)
	IsList bool   // it is written name=(…)
	Adds   bool   // name+=… or name[i]=…: only part of the variable's value
	Used   bool   // some command uses the text
}

// Read parses a script and follows it. beside returns the text of a file that the script sources; nil means that
// there are none.
func Read(text string, beside func(name string) (string, bool)) (*Script, error) {
	body, p, err := parsed(text, nil)
	if err != nil {
		return nil, err
	}
	r := &runner{
		assigned: p.names,
		lines:    lineStarts(text), variables: map[string]*variable{}, functions: map[string]*function{}, called: map[string]bool{},
		definitions: map[int]*Definition{}, seen: map[string]bool{}, beside: beside,
		frame: frame{of: "the script", caller: true}, budget: 1000 + 2*len(text),
	}
	r.directives(text)
	r.list(body)
	r.uncalled()
	return r.result(p.raw), nil
}

// Words returns the words of a script's commands and arrays, as written.
func Words(text string) ([]RawWord, error) {
	_, raw, err := parse(text, nil)
	return raw, err
}

// runner follows a script.
type runner struct {
	lines     []int // offset of each line
	variables map[string]*variable
	functions map[string]*function
	called    map[string]bool
	assigned  map[string]bool // the variables that the script assigns somewhere
	names     []string        // the functions' names, in order
	frame     frame

	journal    []change
	journaling int
	exports    []string // exported variables, in order
	exportAll  bool     // set -a
	assumed    bool     // the last test assumed a script without arguments
	holders    int      // number of placeholders for unknown texts

	commands    []Command
	definitions map[int]*Definition
	seen        map[string]bool // expanded commands that are already recorded
	beside      func(name string) (string, bool)

	quiet  int // if > 0, nothing is recorded
	maybe  int // if > 0, inside a branch that may not be taken
	depth  int // nesting of calls and evaluated texts
	budget int // remaining steps beyond the script's own length: loops, calls, copies
}

// frame contains the positional parameters.
type frame struct {
	args   []Word
	of     string // what args are passed to, for messages
	caller bool   // args are unknown, because the caller passes them
	locals []change
	inside bool // inside a function
}

// spend takes n steps from the budget, and reports whether any were left.
func (r *runner) spend(n int) bool {
	r.budget -= n
	return r.budget > 0
}

// line returns the line number of an offset.
func (r *runner) line(at int) int { return sort.SearchInts(r.lines, max(at, 0)+1) }

func lineStarts(text string) []int {
	starts := []int{0}
	for i := range len(text) {
		if text[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// outcome is how a statement ends.
type outcome int

const (
	unsure    outcome = iota // unknown
	succeeded                // a program, which probably succeeds
	yes
	no
)

// flow is where a script continues after a statement.
type flow int

const (
	onward flow = iota
	exits
	returns
	breaks
	continues
)

func (r *runner) list(body list) (o outcome, f flow) {
	o = yes
	for _, s := range body {
		if o, f = r.statement(s); f != onward {
			return o, f
		}
	}
	return o, onward
}

func (r *runner) statement(s statement) (outcome, flow) {
	switch s := s.(type) {
	case simple:
		return r.simple(s)
	case list:
		return r.list(s)
	case pipeline:
		return r.pipeline(s)
	case andOr:
		return r.andOr(s)
	case group:
		return r.group(s)
	case branches:
		return r.branches(s)
	case forEach:
		return r.forEach(s)
	case loop:
		return r.loop(s)
	case choice:
		return r.choice(s)
	case arithmetic:
		return r.arithmeticCommand(s), onward
	case function:
		if r.functions[s.name] == nil {
			r.names = append(r.names, s.name)
		}
		r.functions[s.name] = &s
	}
	return yes, onward
}

func (r *runner) pipeline(s pipeline) (o outcome, f flow) {
	for _, stage := range s.stages {
		if len(s.stages) == 1 {
			o, f = r.statement(stage)
			continue
		}
		r.attempt(func() { o, _ = r.statement(stage) })
	}
	if s.negated {
		o = map[outcome]outcome{yes: no, no: yes}[o]
	}
	return o, f
}

func (r *runner) group(s group) (o outcome, f flow) {
	if !s.subshell {
		return r.list(s.body)
	}
	r.attempt(func() { o, _ = r.list(s.body) })
	return o, onward
}

func (r *runner) andOr(s andOr) (outcome, flow) {
	o, f := r.statement(s.left)
	if f != onward {
		return o, f
	}
	switch {
	case (o == yes || o == succeeded) == s.or && o != unsure:
		return o, onward
	case o != unsure:
		return r.statement(s.right)
	}
	r.ways(r.branchWhy(s.left), func() flow { _, f := r.statement(s.right); return f }, func() flow { return onward })
	return unsure, onward
}

// branchWhy returns why a variable that a statement may have set is unknown.
func (r *runner) branchWhy(s statement) string {
	at := -1
	switch s := s.(type) {
	case simple:
		at = s.start
	case arithmetic:
		at = s.start
	case pipeline:
		return r.branchWhy(s.stages[0])
	}
	if at < 0 {
		return "it is set in a branch that may not be taken"
	}
	return fmt.Sprintf("it is set in a branch at line %d that may not be taken", r.line(at))
}

// uncalled follows the functions that are never called, because another script may call them.
func (r *runner) uncalled() {
	for i := 0; i < len(r.names); i++ {
		name := r.names[i]
		if r.called[name] {
			continue
		}
		r.called[name] = true
		r.maybe++
		r.attempt(func() { r.body(r.functions[name].body, frame{of: name + "()", caller: true, inside: true}) })
		r.maybe--
	}
}

// shortened returns a text that is short enough for a message.
func shortened(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 40 {
		cut := 37
		for cut > 0 && text[cut]&0xc0 == 0x80 {
			cut--
		}
		return text[:cut] + "…"
	}
	return text
}
