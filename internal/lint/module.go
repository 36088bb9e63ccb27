// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"snug/internal/pysrc"
)

// module is one file as the rules see it: its functions, each with its calls, its assignments and their places.
type module struct {
	src       []byte
	starts    []int             // where the lines of the source begin
	imports   map[string]string // full names of imported names
	libraries map[string]bool   // top-level packages that are imported
	classes   map[string]*class
	functions []*function     // in the order of the source; the first is the module's own body
	words     map[string]bool // every name and attribute in the file
	models    map[string]bool // names of models, see models.go
	defined   map[string]bool // functions in the file
	dicts     map[string]bool // names to which a dict is assigned
	cleared   map[string]bool // containers that are emptied or replaced somewhere, by the last part of their names
	quiet     map[string]bool // functions that are called with gradients off
	gradless  bool            // gradients are switched off for the whole program
	torch     string          // PyTorch release in the settings; "" if none
}

// class is a class in the file.
type class struct {
	name   string
	bases  []string        // full names
	layers map[string]bool // attributes that are modules
}

// isModule reports whether a class is a torch module, judging by its bases.
func (c *class) isModule() bool { return c.hasBase("Module") }

// isLightning reports whether a class is a LightningModule.
func (c *class) isLightning() bool { return c.hasBase("LightningModule") }

func (c *class) hasBase(suffix string) bool {
	if c == nil {
		return false
	}
	for _, b := range c.bases {
		if strings.HasSuffix(b, suffix) {
			return true
		}
	}
	return false
}

// function is a function, a method, or the body of the module.
type function struct {
	*module
	name    string
	def     *pysrc.FunctionDef // nil for the module's body
	class   *class             // the class, for a method
	outer   *function          // the enclosing function; nil for the module's body
	top     *place
	calls   []*call
	assigns map[string][]*assign // by target: x, self.x
	keeps   []*keep
	stmts   []*statement
	globals map[string]bool // names declared global or nonlocal
	params  map[string]bool
	words   map[string]bool // names and attributes in the function's body

	backs     []*backward
	losses    map[string]bool     // names that a backward pass starts from
	emptied   map[string][]*place // where a container is replaced or emptied
	trains    map[pysrc.Stmt]bool // loops in which gradients are computed or weights updated
	steps     map[pysrc.Stmt]bool // the innermost loops in trains
	feeds     map[string]bool     // names from which a loss is computed
	evalCall  *call               // the first x.eval()
	evaluated string              // the x in evalCall
}

// call is one call.
type call struct {
	*pysrc.Call
	fn    *function
	name  string // full name of the called function; "" if it is not a name
	place *place
	stmt  pysrc.Stmt
}

// assign is one target of an assignment.
type assign struct {
	target  pysrc.Expr
	value   pysrc.Expr // nil if unknown, as for a loop's target
	element int        // index of the unpacked element; -1 for the whole value
	op      string     // "+" for +=
	at      pysrc.Pos
	place   *place
	stmt    pysrc.Stmt
}

// statement is one statement with its place.
type statement struct {
	pysrc.Stmt
	place *place
}

// readModule prepares a parsed file for the rules.
func readModule(src []byte, body []pysrc.Stmt) *module {
	m := &module{
		src: src, starts: lineStarts(src), imports: map[string]string{}, libraries: map[string]bool{}, classes: map[string]*class{},
		words: map[string]bool{}, models: map[string]bool{}, cleared: map[string]bool{},
		defined: map[string]bool{}, dicts: map[string]bool{}, quiet: map[string]bool{},
	}
	m.readNames(body)
	m.readFunction(nil, nil, nil, body, false)
	m.findModels()
	for _, f := range m.functions {
		f.findContainers()
		f.findBackward()
	}
	return m
}

// readNames collects imports and classes, including those inside functions, because a name may be used before its
// definition.
func (m *module) readNames(body []pysrc.Stmt) {
	for _, s := range body {
		m.readImports(s)
		if c, ok := s.(*pysrc.ClassDef); ok {
			m.classes[c.Name] = m.readClass(c)
		}
		pysrc.Parts(s, func(pysrc.Expr) {}, m.readNames)
	}
}

func (m *module) readClass(c *pysrc.ClassDef) *class {
	out := &class{name: c.Name, layers: map[string]bool{}}
	for _, b := range c.Bases {
		if b.Name != "" {
			continue
		}
		base := m.imported(b.Value)
		if known := m.classes[base]; known != nil {
			out.bases = append(out.bases, known.bases...)
		}
		out.bases = append(out.bases, base)
	}
	return out
}

// readFunction reads a function and its nested functions.
func (m *module) readFunction(outer *function, c *class, def *pysrc.FunctionDef, body []pysrc.Stmt, gradless bool) {
	f := &function{
		module: m, def: def, class: c, outer: outer, top: &place{gradless: gradless},
		assigns: map[string][]*assign{}, globals: map[string]bool{}, params: map[string]bool{}, words: map[string]bool{},
		trains: map[pysrc.Stmt]bool{}, steps: map[pysrc.Stmt]bool{}, feeds: map[string]bool{},
		losses: map[string]bool{}, emptied: map[string][]*place{},
	}
	if def != nil {
		f.name = def.Name
		if c == nil {
			m.defined[f.name] = true
		}
		for _, p := range def.Params {
			f.params[p.Name] = true
		}
	}
	m.functions = append(m.functions, f)
	w := &walker{f: f, place: f.top}
	w.block(body)
}

// ofTraining reports whether the file uses PyTorch at all.
func (m *module) ofTraining() bool {
	for _, name := range []string{"torch", "lightning", "pytorch_lightning", "transformers", "accelerate", "trl", "peft"} {
		if m.libraries[name] {
			return true
		}
	}
	return false
}

// isUnitTest reports whether a file contains unit tests, which keep tensors on purpose.
func (m *module) isUnitTest(path string) bool {
	if slices.Contains(strings.Split(filepath.ToSlash(path), "/"), "tests") {
		return true
	}
	return m.libraries["unittest"] || m.libraries["pytest"] || m.libraries["parameterized"]
}

// The most functions in a file, and calls in a function, that are checked. Hand-written files have fewer. Rules
// compare calls with each other, so checking generated files would take a long time for no benefit.
const (
	mostFunctions = 3000
	mostCalls     = 5000
)

// generated returns an error for a file that is too large to be hand-written and is therefore not checked, and nil
// for all others.
func (m *module) generated() error {
	if n := len(m.functions) - 1; n > mostFunctions { // the first is the module's own body
		return SkippedError{fmt.Sprintf("it has %d functions, more than the %d that a hand-written file may have", n, mostFunctions)}
	}
	for _, f := range m.functions {
		if n := len(f.calls); n > mostCalls {
			return SkippedError{fmt.Sprintf("%s has %d calls, more than the %d that a hand-written function may have", f.title(), n, mostCalls)}
		}
	}
	return nil
}

// title returns a function's name for messages.
func (f *function) title() string {
	if f.def == nil {
		return "the code outside functions"
	}
	return f.name
}

// SkippedError is the reason why a valid file was skipped.
type SkippedError struct{ why string }

// Error returns the reason.
func (e SkippedError) Error() string { return "not checked: " + e.why }

// onGPU reports whether the file uses a GPU, judging by its words.
func (m *module) onGPU() bool {
	for _, word := range []string{"cuda", "device", "accelerator", "Accelerator", "fabric", "Trainer", "LightningModule", "local_rank"} {
		if m.words[word] {
			return true
		}
	}
	return false
}
