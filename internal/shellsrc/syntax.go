// SPDX-License-Identifier: Apache-2.0

// Package shellsrc reads shell scripts and works out what they would pass to the programs they start. Nothing is
// executed.
//
// A script is parsed (parse*.go) and then followed statement by statement, as a shell would (run*.go), with one
// difference: a value may be unknown. The output of a command, an argument without a default or an environment
// variable is unknown, with a reason; everything else is expanded (expand*.go). If a condition is unknown, both
// branches are followed, and a variable that differs between them is unknown afterwards.
//
// Each piece of an expanded word records where its text is in the script, so that the value of a flag can be changed
// where it is written: in the command, in a variable, in an array or in a function's argument.
package shellsrc

// partKind is the kind of a word's part.
type partKind int

const (
	literalPart partKind = iota
	paramPart            // $x, ${x…}
	outputPart           // $(…), `…`
	arithmeticPart
	processPart // <(…)
)

// part is a part of a word as written: a literal text or an expansion.
type part struct {
	kind   partKind
	text   string // the literal, a parameter's name, or the text inside the brackets
	at     int    // offset of text in the script; -1 if the script does not contain it
	places []int  // offsets of each byte of text, if they are not consecutive
	quoted bool
	raw    string // as written

	op    string // operator of ${x…}: :-, %%, #, …
	index *word  // index of ${x[…]}
	arg   []part // argument of op
}

// word is a word of a command as written.
type word struct {
	parts      []part
	raw        string
	start, end int // offsets in the script; -1 if it is not written there
}

// assignment is name=value, name+=value, name[index]=value or name=(…).
type assignment struct {
	name   string
	index  *word
	adds   bool
	value  word
	array  []word // elements of name=(…)
	isList bool
	start  int // offset of the name
}

// The statements of a script.
type (
	simple struct {
		assignments []assignment
		words       []word
		declared    map[int]assignment // arguments such as A=1 in export A=1, by word index
		heredocs    []*heredoc
		target      *word // target of the last > redirection
		start       int
	}
	list     []statement
	pipeline struct {
		negated bool
		stages  []statement
	}
	andOr struct {
		left  statement
		or    bool
		right statement
	}
	group struct {
		body     list
		subshell bool
	}
	branches struct {
		conditions, bodies []list
		otherwise          list
		start              int
	}
	forEach struct {
		name  string
		words []word
		args  bool // has no in, so it iterates over "$@"
		body  list
		start int
	}
	loop struct {
		condition list
		until     bool
		body      list
		start     int
	}
	choice struct {
		of    word
		items []choiceItem
		start int
	}
	choiceItem struct {
		patterns []word
		body     list
	}
	function struct {
		name string
		body statement
	}
	arithmetic struct { // ((…))
		text  part
		start int
	}
)

// statement is one of the types above.
type statement any

// heredoc is a here-document. Its text is read when the line ends.
type heredoc struct {
	delimiter string
	literal   bool // the delimiter is quoted
	strip     bool // <<-
	text      word
}

// RawWord is a word of a command as written in the script.
type RawWord struct {
	Start, End int // offsets in the script
	Command    int // words of one command have the same number
}

// maxDepth limits the nesting of quotes, substitutions and statements.
const maxDepth = 64
