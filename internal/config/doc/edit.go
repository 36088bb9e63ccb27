// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Set replaces the value at a path. The new value is a bool, a whole number, a float64, a string or
// nil, written in the style of the old one: a quoted number stays quoted, True becomes False and
// yes becomes no. A value that is defined elsewhere (an alias, a merge key, a variable) is changed
// there; if that would change other places too, the error is ErrShared.
func (d *Document) Set(p Path, value any) (*Document, error) {
	return d.set(p, value, false)
}

// SetShared is like Set but allows a value that other places use: they change too.
func (d *Document) SetShared(p Path, value any) (*Document, error) {
	return d.set(p, value, true)
}

// Insert adds a key, and any missing maps around it, in the style and indentation of its neighbors. If the
// key exists, Insert sets it.
func (d *Document) Insert(p Path, value any) (*Document, error) {
	switch _, err := d.lookup(p); {
	case err == nil:
		return d.Set(p, value)
	case !errors.Is(err, ErrNotFound):
		return nil, err
	}
	return d.insert(p, value)
}

func (d *Document) set(p Path, value any, shared bool) (*Document, error) {
	value, err := plain(value)
	if err != nil {
		return nil, fmt.Errorf("%s: setting %s: %w", d.name, p, err)
	}
	steps, err := d.lookup(p)
	if err != nil {
		return nil, err
	}
	old := steps[len(steps)-1].node.resolve()
	if err := d.editable(p, old); err != nil {
		return nil, err
	}
	if users := d.users(steps); len(users) > 0 && !shared && !d.isVariable(steps) {
		return nil, d.errorAt(old.start, fmt.Errorf("%s is %w: %s would change too", p, ErrShared, places(users)))
	}
	text, reads, err := d.syntax.render(d.src, old, value)
	if err != nil {
		return nil, d.errorAt(old.start, fmt.Errorf("setting %s: %w", p, err))
	}
	return d.apply([]splice{{old.start, old.end, text}}, expected{at: old, reads: reads})
}

// editable returns an error if a value cannot be replaced.
func (d *Document) editable(p Path, n *node) error {
	switch {
	case n.kind == Map || n.kind == List:
		return d.errorAt(n.start, fmt.Errorf("%s is a %s: %w for a setting", p, n.kind, ErrKind))
	case n.fixed != "":
		return d.errorAt(n.start, fmt.Errorf("%s %w: %s", p, ErrFixed, n.fixed))
	}
	return nil
}

// isVariable reports whether a path names a program's variable. Changing a variable is meant to change its
// uses too.
func (d *Document) isVariable(steps []step) bool {
	return (d.format == Shell || d.format == Python) && steps[len(steps)-1].node.target == nil
}

// places lists references for a message.
func places(users []Reference) string {
	var texts []string
	for _, u := range users {
		texts = append(texts, fmt.Sprintf("%s (line %d)", u.Path, u.Line))
	}
	if len(texts) > 3 {
		texts = append(texts[:3], fmt.Sprintf("%d more", len(texts)-3))
	}
	return strings.Join(texts, ", ")
}

func (d *Document) insert(p Path, value any) (*Document, error) {
	value, err := plain(value)
	if err != nil {
		return nil, fmt.Errorf("%s: inserting %s: %w", d.name, p, err)
	}
	depth := len(p) - 1
	steps, err := d.lookup(p[:depth])
	for err != nil && depth > 0 && errors.Is(err, ErrNotFound) {
		depth--
		steps, err = d.lookup(p[:depth])
	}
	if err != nil {
		return nil, err
	}
	parent := steps[len(steps)-1].node.resolve()
	if users := d.users(steps); len(users) > 0 && !d.isVariable(steps) {
		return nil, d.errorAt(parent.start, fmt.Errorf("%s is %w: %s would change too", p[:depth], ErrShared, places(users)))
	}
	if parent.kind != Map && parent.kind != Null {
		return nil, d.errorAt(parent.start, fmt.Errorf("%s is a %s: %w to put %s into", p[:depth], parent.kind, ErrKind, p[depth]))
	}
	splices, err := d.syntax.insert(d.src, parent, p[depth:], value)
	if err != nil {
		return nil, d.errorAt(parent.start, fmt.Errorf("inserting %s: %w", p, err))
	}
	return d.apply(splices, expected{at: parent, keys: p[depth:], reads: value})
}

// plain converts a value to one of the types in Value.Data: every whole number to int64, for example.
func plain(value any) (any, error) {
	switch v := value.(type) {
	case nil, bool, int64:
		return v, nil
	case string:
		if strings.ContainsFunc(v, func(r rune) bool {
			return r < ' ' || r == 0x7f || r == '\u0085' || r == '\u2028' || r == '\u2029' || r == '\ufffd' || r == '\ufeff'
		}) {
			return nil, fmt.Errorf("%w: text with control characters", ErrKind)
		}
		return v, nil
	case int:
		return int64(v), nil
	case int32:
		return int64(v), nil
	case uint64:
		if v <= math.MaxInt64 {
			return int64(v), nil
		}
	case float64:
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return v, nil
		}
	}
	return nil, fmt.Errorf("%w: %T (%v)", ErrKind, value, value)
}

// splice replaces the bytes from start to end; if both are the same, it inserts.
type splice struct {
	start, end int
	text       string
}

// apply returns the document after the splices. It parses the new text and compares its values with the old
// ones (verify.go).
func (d *Document) apply(splices []splice, want expected) (*Document, error) {
	if IsNotebook(d.name) {
		return nil, d.errorAt(want.at.start, fmt.Errorf("%w: it is in a notebook; change the cell by hand", ErrFixed))
	}
	slices.SortStableFunc(splices, func(a, b splice) int { return a.start - b.start })
	var out bytes.Buffer
	done := 0
	for _, s := range splices {
		out.Write(d.src[done:s.start])
		out.WriteString(s.text)
		done = s.end
	}
	out.Write(d.src[done:])
	edited, err := OpenScript(d.name, d.format, out.Bytes(), d.beside)
	if err != nil {
		return nil, d.errorAt(want.at.start, fmt.Errorf("%w: the file would no longer parse (%w)", ErrFixed, errors.Unwrap(err)))
	}
	if where := want.differs(d.root, edited.root, 0); where != nil {
		return nil, d.errorAt(want.at.start, fmt.Errorf("%w: %w", ErrFixed, where))
	}
	return edited, nil
}
