// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"errors"
	"fmt"
	"strings"

	"snug/internal/pattern"
)

// ErrUnknownModel means that a setup's model is missing or not supported. Only a recording can show how much memory
// it takes.
var ErrUnknownModel = errors.New("the model is not known")

// FieldError is a mistake in a field of a setup. A setup comes from a file or from flags; the caller knows which, and
// how the user writes the field.
type FieldError struct {
	Field string // the field at fault

	format string // the message, with each mentioned field in braces
	args   []any
	kind   error // ErrUnknownModel, or nil
}

var fieldInBraces = pattern.New(`\{[A-Za-z_][A-Za-z0-9_.-]*(=[a-z0-9-]+)?\}`)

// Wrong returns a FieldError. The format has fields in braces, as in "{batch} is %d", with the one at fault first.
// {weights=fp32} is a field with the value that it should have.
func Wrong(format string, args ...any) *FieldError {
	field := fieldInBraces.Regexp().FindString(format)
	if field != "" {
		field = field[1 : len(field)-1]
	}
	return &FieldError{Field: field, format: format, args: args}
}

// unknownModel returns a FieldError that wraps ErrUnknownModel.
func unknownModel(format string, args ...any) error {
	e := Wrong(format, args...)
	e.kind = ErrUnknownModel
	return e
}

// Error returns the message with field names as in files.
func (e *FieldError) Error() string {
	return e.Named(func(field string) string { return strings.Replace(field, "=", " ", 1) })
}

// Named returns the message with each field name replaced by the result of name, which also gets field=value.
func (e *FieldError) Named(name func(field string) string) string {
	format := fieldInBraces.Regexp().ReplaceAllStringFunc(e.format, func(in string) string { return name(in[1 : len(in)-1]) })
	return fmt.Sprintf(format, e.args...)
}

// With returns the error with a further remark at its end.
func (e *FieldError) With(remark string) *FieldError {
	out := *e
	out.format, out.args = e.format+"; %s", append(e.args[:len(e.args):len(e.args)], remark)
	return &out
}

// Unwrap returns the kind of mistake, such as ErrUnknownModel, or nil.
func (e *FieldError) Unwrap() error { return e.kind }
