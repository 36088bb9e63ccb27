// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"snug/internal/spelling"
	"snug/internal/units"
)

// object reads the fields of a decoded JSON or YAML object. It tracks which fields were read, so that it can report
// the others as unknown, and keeps the first error.
type object struct {
	keys  map[string]any
	at    string // prefix of each field's name, such as "model."
	asked []string
	err   error
}

func (o *object) fail(key, format string, args ...any) {
	if o.err == nil {
		o.err = Wrong("{"+o.at+key+"}"+format, args...)
	}
}

// value returns the field, or nil if it is absent or null.
func (o *object) value(key string) any {
	o.asked = append(o.asked, key)
	return o.keys[key]
}

// done returns the first error. An unknown field is reported before anything else, because it is often the reason why
// another is missing.
func (o *object) done() error {
	var unknown []string
	for k := range o.keys {
		if !slices.Contains(o.asked, k) {
			unknown = append(unknown, k)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		e := Wrong("field %q is not known%s", o.at+unknown[0],
			spelling.Hint(unknown[0], o.asked, "known: "+strings.Join(o.asked, ", ")))
		e.Field = o.at + unknown[0]
		return e
	}
	return o.err
}

func (o *object) text(key string) string {
	switch v := o.value(key).(type) {
	case nil:
	case string:
		return v
	case float64:
		o.fail(key, " is %s; it must be text, so put it in quotes", show(v))
	default:
		o.fail(key, " is %s; it must be text", show(v))
	}
	return ""
}

// choice returns one of the given words, or any text if none are given.
func (o *object) choice(key, otherwise string, words []string) string {
	v := o.text(key)
	if v == "" {
		return otherwise
	}
	if len(words) > 0 && !slices.Contains(words, v) {
		o.fail(key, " %q is not known%s", v, wordHint(key, v, words))
	}
	return v
}

func (o *object) flag(key string, otherwise bool) bool {
	switch v := o.value(key).(type) {
	case nil:
	case bool:
		return v
	default:
		o.fail(key, " is %s; it must be true or false", show(v))
	}
	return otherwise
}

// whole returns an integer within bounds.
func (o *object) whole(key string, otherwise, least, most int) int {
	v := o.value(key)
	if v == nil {
		return otherwise
	}
	f, ok := v.(float64)
	switch {
	case !ok || f != math.Trunc(f):
		o.fail(key, " is %s; it must be a whole number", show(v))
	case f < float64(least):
		o.fail(key, " is %s; it must be at least %d", show(v), least)
	case f > float64(most):
		o.fail(key, " is %s; it must be at most %d", show(v), most)
	default:
		return int(f)
	}
	return otherwise
}

// number returns a number within bounds.
func (o *object) number(key string, otherwise, least, most float64) float64 {
	v := o.value(key)
	if v == nil {
		return otherwise
	}
	f, ok := v.(float64)
	if !ok || math.IsNaN(f) || f < least || f > most {
		o.fail(key, " is %s; it must be a number from %g to %g", show(v), least, most)
		return otherwise
	}
	return f
}

// size returns a number of bytes, given as a number or as text with a unit.
func (o *object) size(key string) uint64 {
	switch v := o.value(key).(type) {
	case nil:
	case float64:
		if v < 1 || v >= 1<<60 || v != math.Trunc(v) {
			o.fail(key, " is %s; it must be bytes, at least 1, or a size like 24GiB", show(v))
			return 0
		}
		return uint64(v) // a plain number was set by a program, so it is exact
	case string:
		b, err := units.ParseLimit(v)
		if err != nil {
			o.fail(key, ": %v", err)
		}
		return uint64(b)
	default:
		o.fail(key, " is %s; it must be bytes or a size like 24GiB", show(v))
	}
	return 0
}

// words returns a list of strings.
func (o *object) words(key string) []string {
	v := o.value(key)
	list, ok := v.([]any)
	if v != nil && !ok {
		o.fail(key, " is %s; it must be a list of names", show(v))
	}
	var out []string
	for _, x := range list {
		s, ok := x.(string)
		if !ok || s == "" {
			o.fail(key, " contains %s; it must be a list of names", show(x))
		}
		out = append(out, s)
	}
	return out
}

// listed returns a list of the given words, or of any text if none are given.
func (o *object) listed(key string, words []string) []string {
	given := o.words(key)
	for _, w := range given {
		if len(words) > 0 && !slices.Contains(words, w) {
			o.fail(key, " %q is not known%s", w, wordHint(key, w, words))
		}
	}
	return given
}

// inner returns the object in a field, or nil if there is none.
func (o *object) inner(key string) *object {
	switch v := o.value(key).(type) {
	case nil:
	case map[string]any:
		return &object{keys: v, at: o.at + key + "."}
	default:
		hint := ""
		if _, text := v.(string); text && key == "model" {
			hint = fmt.Sprintf(", such as {\"name\": %s}", show(v))
		}
		o.fail(key, " is %s; it must be an object%s", show(v), hint)
	}
	return nil
}

// adopt takes the error of an inner object.
func (o *object) adopt(in *object) {
	if err := in.done(); err != nil && o.err == nil {
		o.err = err
	}
}

// show formats a value for an error, on one line and not too long.
func show(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		if len(v) > 40 {
			v = v[:40] + "..."
		}
		return fmt.Sprintf("%q", v)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1e15 {
			return fmt.Sprintf("%.0f", v)
		}
		return fmt.Sprintf("%g", v)
	default:
		return fmt.Sprint(v)
	}
}
