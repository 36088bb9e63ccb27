// SPDX-License-Identifier: Apache-2.0

// Package pysrc parses Python source, up to the syntax of 3.14, into a small syntax
// tree. Nothing is executed.
//
// The parser is our own: a lexer that produces tokens for lines, blocks and f-strings, and one function for each
// grammar rule. The only Go library that reads real files without cgo took twenty times as long, and includes 20 MB
// of other grammars unless every build sets its tags. A test compares the trees with CPython's.
package pysrc

// Pos is a position in a file: Line and Col, both counted from 1. Col counts bytes.
type Pos struct{ Line, Col int }

// At returns the position, for the nodes that embed it.
func (p Pos) At() Pos { return p }

// Node is any node of the tree. At returns its position.
type Node interface{ At() Pos }

// Expr is an expression.
type Expr interface {
	Node
	expr()
}

// Stmt is a statement.
type Stmt interface {
	Node
	stmt()
}

// File is a parsed module.
type File struct {
	Path string // as passed to Parse
	Body []Stmt // the module's statements
}

// The expressions. Operators are spelled as in the source: "+", "not", "is not".
type (
	// Name is a variable.
	Name struct {
		Pos
		ID string // the variable's name
	}
	// Const is None, True, False or "...".
	Const struct {
		Pos
		Text string // as in the source
	}
	// Number is a numeric literal.
	Number struct {
		Pos
		Text  string  // as in the source
		Int   int64   // the value, if it is an integer that fits into an int64
		IsInt bool    // Int is set
		Float float64 // the value, also of an integer; for an imaginary literal, the factor of j
	}
	// Str is a string or bytes literal. Adjacent literals are joined and escapes resolved.
	Str struct {
		Pos
		Value string // the text, or the bytes
	}
	// FString is a formatted string, or a template (t-string): Str for its literal parts, and the expressions in its fields.
	FString struct {
		Pos
		Parts []Expr // in order
	}
	// Attribute is X.Name.
	Attribute struct {
		Pos
		X    Expr
		Name string
	}
	// Subscript is X[Index]. Several indices are a Tuple, and so is a single one with *.
	Subscript struct {
		Pos
		X, Index Expr
	}
	// Slice is Lo:Hi:Step in a subscript; parts may be nil.
	Slice struct {
		Pos
		Lo, Hi, Step Expr
	}
	// Call is Func(Args).
	Call struct {
		Pos
		Func Expr
		Args []Arg
	}
	// Unary is Op X, with Op "-", "+", "~" or "not".
	Unary struct {
		Pos
		Op string
		X  Expr
	}
	// Binary is L Op R with an arithmetic or bitwise operator.
	Binary struct {
		Pos
		Op   string
		L, R Expr
	}
	// BoolOp is Values joined by Op, which is "and" or "or".
	BoolOp struct {
		Pos
		Op     string
		Values []Expr
	}
	// Compare is a chain of comparisons: Left Ops[0] Rights[0] Ops[1] Rights[1] …
	Compare struct {
		Pos
		Left   Expr
		Ops    []string
		Rights []Expr
	}
	// Conditional is Then if Test else Else.
	Conditional struct {
		Pos
		Test, Then, Else Expr
	}
	// Lambda is lambda Params: Body.
	Lambda struct {
		Pos
		Params []Param
		Body   Expr
	}
	// Tuple is a tuple, with or without parentheses.
	Tuple struct {
		Pos
		Elts []Expr // the elements
	}
	// List is [Elts].
	List struct {
		Pos
		Elts []Expr
	}
	// Set is {Elts}.
	Set struct {
		Pos
		Elts []Expr
	}
	// Dict is {Keys: Values}; a nil key means ** before its value.
	Dict struct {
		Pos
		Keys, Values []Expr
	}
	// Comprehension is a list, set, dict or generator comprehension.
	Comprehension struct {
		Pos
		Kind    string   // "list", "set", "dict", "generator"
		Elt     Expr     // the element, or a dict's key
		Value   Expr     // a dict's value
		Clauses []Clause // its for clauses, outermost first
	}
	// Starred is *X in a call, a display or a target.
	Starred struct {
		Pos
		X Expr
	}
	// Await is await X.
	Await struct {
		Pos
		X Expr
	}
	// Yield is yield X, or yield from X.
	Yield struct {
		Pos
		X    Expr // nil if absent
		From bool // yield from
	}
	// Walrus is Name := Value.
	Walrus struct {
		Pos
		Name  string
		Value Expr
	}
)

// Arg is an argument of a call or a base of a class.
type Arg struct {
	Name  string // name of a keyword argument; otherwise ""
	Stars int    // 1 for *Value, 2 for **Value
	Value Expr   // the argument without its name or stars
}

// Param is a parameter of a function.
type Param struct {
	Name        string // "" for a bare * or /
	Stars       int    // 1 for *Name or a bare *, 2 for **Name
	KeywordOnly bool   // it can only be passed by name
	Annotation  Expr   // nil if absent
	Default     Expr   // nil if absent
}

// Clause is "for Target in Iter if Ifs…" of a comprehension.
type Clause struct {
	Target, Iter Expr
	Ifs          []Expr
}

// The statements.
type (
	// ExprStmt is an expression on its own.
	ExprStmt struct {
		Pos
		X Expr // the expression
	}
	// Assign is Targets[0] = Targets[1] = … = Value.
	Assign struct {
		Pos
		Targets []Expr
		Value   Expr
	}
	// AugAssign is Target Op= Value, with Op "+", "//" and so on.
	AugAssign struct {
		Pos
		Target Expr
		Op     string
		Value  Expr
	}
	// AnnAssign is Target: Annotation = Value; Value may be nil.
	AnnAssign struct {
		Pos
		Target, Annotation, Value Expr
	}
	// Return is return X; X may be nil.
	Return struct {
		Pos
		X Expr
	}
	// Del is del Targets.
	Del struct {
		Pos
		Targets []Expr
	}
	// Pass is pass.
	Pass struct{ Pos }
	// Break is break.
	Break struct{ Pos }
	// Continue is continue.
	Continue struct{ Pos }
	// Raise is raise X; X may be nil.
	Raise struct {
		Pos
		X Expr
	}
	// Assert is assert Test.
	Assert struct {
		Pos
		Test Expr
	}
	// Import is import Names.
	Import struct {
		Pos
		Names []Alias
	}
	// ImportFrom is from Module import Names; Level counts the dots before Module.
	ImportFrom struct {
		Pos
		Module string
		Level  int
		Names  []Alias // a single "*" imports all names
	}
	// Global is global Names.
	Global struct {
		Pos
		Names []string
	}
	// Nonlocal is nonlocal Names.
	Nonlocal struct {
		Pos
		Names []string
	}
	// If is if Test: Then else: Else; an elif is an If in Else.
	If struct {
		Pos
		Test       Expr
		Then, Else []Stmt
	}
	// While is while Test: Body else: Else.
	While struct {
		Pos
		Test       Expr
		Body, Else []Stmt
	}
	// For is for Target in Iter: Body else: Else.
	For struct {
		Pos
		Target, Iter Expr
		Body, Else   []Stmt
	}
	// With is with Items: Body.
	With struct {
		Pos
		Items []WithItem
		Body  []Stmt
	}
	// Try is try: Body, with Handlers, Else and Finally.
	Try struct {
		Pos
		Body          []Stmt
		Handlers      []Handler
		Else, Finally []Stmt
	}
	// FunctionDef is a function or a method.
	FunctionDef struct {
		Pos
		Name       string  // the function's name
		Params     []Param // the parameters, in order
		Body       []Stmt  // the statements
		Decorators []Expr  // outermost first, without the @
	}
	// ClassDef is a class.
	ClassDef struct {
		Pos
		Name       string // the class's name
		Bases      []Arg  // base classes, and keywords such as metaclass
		Body       []Stmt // the statements
		Decorators []Expr // outermost first, without the @
	}
	// TypeAlias is type Name = Value.
	TypeAlias struct {
		Pos
		Name  string
		Value Expr
	}
	// Match is match Subject: Cases.
	Match struct {
		Pos
		Subject Expr
		Cases   []Case
	}
)

// Alias is "Name as As" in an import; As is "" if it is not renamed.
type Alias struct{ Name, As string }

// WithItem is "X as As"; As may be nil.
type WithItem struct{ X, As Expr }

// Handler is "except Type as Name: Body".
type Handler struct {
	Type Expr // nil for a bare except
	Name string
	Body []Stmt
}

// Case is a case of a match. A pattern is kept only if it is a constant.
type Case struct {
	Pattern Expr   // a Str, Number or Const; nil for any other pattern
	Any     bool   // the pattern is _ or a name without a guard
	Guard   Expr   // the condition after if, nil if absent
	Body    []Stmt // the statements
}

func (*Name) expr()          {}
func (*Const) expr()         {}
func (*Number) expr()        {}
func (*Str) expr()           {}
func (*FString) expr()       {}
func (*Attribute) expr()     {}
func (*Subscript) expr()     {}
func (*Slice) expr()         {}
func (*Call) expr()          {}
func (*Unary) expr()         {}
func (*Binary) expr()        {}
func (*BoolOp) expr()        {}
func (*Compare) expr()       {}
func (*Conditional) expr()   {}
func (*Lambda) expr()        {}
func (*Tuple) expr()         {}
func (*List) expr()          {}
func (*Set) expr()           {}
func (*Dict) expr()          {}
func (*Comprehension) expr() {}
func (*Starred) expr()       {}
func (*Await) expr()         {}
func (*Yield) expr()         {}
func (*Walrus) expr()        {}

func (*ExprStmt) stmt()    {}
func (*Assign) stmt()      {}
func (*AugAssign) stmt()   {}
func (*AnnAssign) stmt()   {}
func (*Return) stmt()      {}
func (*Del) stmt()         {}
func (*Pass) stmt()        {}
func (*Break) stmt()       {}
func (*Continue) stmt()    {}
func (*Raise) stmt()       {}
func (*Assert) stmt()      {}
func (*Import) stmt()      {}
func (*ImportFrom) stmt()  {}
func (*Global) stmt()      {}
func (*Nonlocal) stmt()    {}
func (*If) stmt()          {}
func (*While) stmt()       {}
func (*For) stmt()         {}
func (*With) stmt()        {}
func (*Try) stmt()         {}
func (*FunctionDef) stmt() {}
func (*ClassDef) stmt()    {}
func (*TypeAlias) stmt()   {}
func (*Match) stmt()       {}
