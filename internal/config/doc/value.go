// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"unicode/utf8"
)

// Kind is the type of a value.
type Kind string

// The kinds.
const (
	Map   Kind = "map"          // keys with values
	List  Kind = "list"         // values in order
	Int   Kind = "whole number" // a number without a fraction
	Float Kind = "number"       // any other number
	Bool  Kind = "boolean"      // true or false
	Text  Kind = "string"       // text
	Null  Kind = "null"         // no value
	// Expression is anything that only its own language can evaluate: a Python call, a shell
	// substitution, a date.
	Expression Kind = "expression"
)

// Value is one value and its position.
type Value struct {
	Path Path // where the value is in the document
	Kind Kind // the type of the value
	// Text is the value as written, including quotes; "" for an empty one.
	Text string
	// Data is the decoded value: int64, float64, bool, string or nil. Maps,
	// lists and expressions have none.
	Data any
	// Line and Column are the position of the first character, counting from 1; columns count characters.
	Line, Column int
	// Start and End are the byte offsets of Text.
	Start, End int
	// Anchor is the YAML anchor on this value, without its &.
	Anchor string
	// Via is set if the value is defined elsewhere: an alias, a merge key, a
	// shell variable. The other fields describe the definition.
	Via *Reference
	// Keys are the keys of a map, in order.
	Keys []string
	Len  int // the number of items or keys
	// More are further words after the value of a flag, which may be values too: --target_modules q k v.
	More []string
	// Why is the reason why a shell expression is unknown.
	Why string
	// Ends is the known end of a shell expression, such as /llama-7b in $MODELS/llama-7b.
	Ends string
}

// Reference is a place that takes its value from elsewhere.
type Reference struct {
	Name         string // the reference as written: *name, <<, $NAME
	Path         Path   // path of the definition
	Line, Column int    // position of the reference
}

// Errors that callers distinguish with errors.Is.
var (
	// ErrNotFound means that there is no value at a path.
	ErrNotFound = errors.New("missing")
	// ErrShared means that an edit would change other places as well.
	ErrShared = errors.New("shared with other places")
	// ErrAmbiguous means that a key occurs several times.
	ErrAmbiguous = errors.New("defined more than once")
	// ErrFixed means that a value exists but cannot be replaced safely.
	ErrFixed = errors.New("cannot be edited in place")
	// ErrKind means that the value is a map or a list, or that the new value is.
	ErrKind = errors.New("wrong kind of value")
)

// Error is an error with its position.
type Error struct {
	File         string // the file at fault
	Line, Column int    // the position; both count from 1
	Err          error  // what is wrong there
}

// Error returns file:line:column and what went wrong.
func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %v", e.File, e.Line, e.Column, e.Err)
}

// Unwrap returns the error without its position.
func (e *Error) Unwrap() error { return e.Err }

// offsetError is a parser error at a byte offset, before it is converted to a line and column.
type offsetError struct {
	at  int
	err error
}

func (e *offsetError) Error() string { return e.err.Error() }
func (e *offsetError) Unwrap() error { return e.err }

func failAt(at int, format string, args ...any) error {
	return &offsetError{at, fmt.Errorf(format, args...)}
}

// errorAt returns an error with the position of a byte.
func (d *Document) errorAt(at int, err error) error {
	line, column := d.position(at)
	return &Error{d.name, line, column, err}
}

// located returns a parser error with its position.
func (d *Document) located(err error) error {
	var o *offsetError
	if errors.As(err, &o) {
		return d.errorAt(o.at, o.err)
	}
	var e *Error
	if errors.As(err, &e) {
		return err
	}
	return fmt.Errorf("%s: %w", d.name, err)
}

// lineStarts returns where each line of a text begins.
func lineStarts(src []byte) []int {
	starts := []int{0}
	for i, c := range src {
		if c == '\n' || c == '\r' && (i+1 >= len(src) || src[i+1] != '\n') {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// position returns the line and column of a byte, both from 1. A byte order mark
// takes no column.
func (d *Document) position(at int) (line, column int) {
	at = min(max(at, 0), len(d.src))
	line = sort.SearchInts(d.lines, at+1)
	begin := d.lines[line-1]
	if begin == 0 {
		begin = min(contentStart(d.src), at)
	}
	return line, d.characters(at) - d.characters(begin) + 1
}

// characters returns the number of characters before a byte. It counts from the start of a block, because a
// config may be a single line of a megabyte.
func (d *Document) characters(at int) int {
	if d.counts == nil {
		return at
	}
	block := at / characterBlock
	return d.counts[block] + countCharacters(d.src[block*characterBlock:at])
}

const characterBlock = 64

// characterCounts returns the number of characters before each block; nil if every character is one byte.
func characterCounts(src []byte) []int {
	if !slices.ContainsFunc(src, func(c byte) bool { return c >= utf8.RuneSelf }) {
		return nil
	}
	counts := []int{0}
	for at := 0; at+characterBlock <= len(src); at += characterBlock {
		counts = append(counts, counts[len(counts)-1]+countCharacters(src[at:at+characterBlock]))
	}
	return counts
}

// countCharacters returns the number of characters in b.
func countCharacters(b []byte) int {
	n := 0
	for _, c := range b {
		if utf8.RuneStart(c) {
			n++
		}
	}
	return n
}

// bom is the byte order mark that Windows editors put at the beginning of a file.
const bom = "\ufeff"
