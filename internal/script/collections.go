// SPDX-License-Identifier: Apache-2.0

package script

import (
	"slices"
	"strings"
)

// Named tuples, in which reinforcement learning keeps its transitions, and the functions of random that draw from
// them.

func registerCollections() {
	natives["collections.namedtuple"] = namedTuple
	natives["typing.NamedTuple"] = namedTuple
	natives["snug.named_tuple"] = newNamedTuple
	natives["random.sample"] = drawn(1, "k")
	natives["random.choices"] = drawn(-1, "k")
	natives["random.choice"] = drawnOne
	natives["random.shuffle"] = nothing
}

// namedTuple implements collections.namedtuple(name, fields) and typing.NamedTuple(name, fields).
func namedTuple(in *interpreter, a arguments) value {
	names := &list{tuple: true}
	switch v := a.or(1, "field_names", a.or(1, "fields", nil)).(type) {
	case string:
		for _, n := range strings.Fields(strings.ReplaceAll(v, ",", " ")) {
			names.items = append(names.items, n)
		}
	case *list:
		for _, x := range v.items {
			if pair, ok := x.(*list); ok && len(pair.items) > 0 { // with its type
				x = pair.items[0]
			}
			names.items = append(names.items, x)
		}
	default:
		return unknown{}
	}
	return &partial{fn: namespace("snug.named_tuple"), args: arguments{pos: []value{names, hold(a.or(-1, "defaults", nil))}}}
}

// newNamedTuple makes a named tuple. Its first two arguments are the names of its fields and the defaults of the last ones.
func newNamedTuple(_ *interpreter, a arguments) value {
	out := &list{tuple: true}
	fields, _ := a.pos[0].(*list)
	defaults, _ := a.pos[1].(*list)
	for i, f := range fields.items {
		name, ok := f.(string)
		if !ok {
			return unknown{}
		}
		v, given := a.get(i+2, name)
		if late := len(fields.items) - i; !given && defaults != nil && late <= len(defaults.items) {
			v, given = defaults.items[len(defaults.items)-late], true
		}
		if !given {
			v = unknown{}
		}
		out.names, out.items = append(out.names, name), append(out.items, hold(v))
	}
	return out
}

// field returns the item of a named tuple with this name, or the tuple of its names.
func (l *list) field(name string) (value, bool) {
	if i := slices.Index(l.names, name); i >= 0 && i < len(l.items) {
		return hold(l.items[i]), true
	}
	if name == "_fields" && l.names != nil {
		out := &list{tuple: true}
		for _, n := range l.names {
			out.items = append(out.items, n)
		}
		return out, true
	}
	return nil, false
}

// namedTupleMethod calls a method that only named tuples have.
func (l *list) namedTupleMethod(name string, a arguments) (value, bool) {
	switch {
	case l.names == nil:
	case name == "_asdict":
		d := &dict{}
		for i, n := range l.names {
			d.set(n, hold(l.items[i]))
		}
		return d, true
	case name == "_replace":
		out := &list{tuple: true, names: l.names}
		for i, n := range l.names {
			out.items = append(out.items, hold(a.or(-1, n, l.items[i])))
		}
		return out, true
	}
	return nil, false
}

// drawn implements random.sample(population, k) and random.choices(population, k=k). The items are taken in order.
func drawn(at int, name string) func(*interpreter, arguments) value {
	return func(in *interpreter, a arguments) value {
		from := a.or(0, "population", nil)
		k, ok := a.or(at, name, 1).(int)
		if !ok || k < 0 {
			return unknown{}
		}
		in.grow(k)
		out := &list{items: make([]value, k)}
		l, isList := from.(*list)
		if _, counts := from.(*iterator); !counts && !(isList && len(l.items) > 0) {
			return unknown{}
		}
		for i := range out.items {
			if isList {
				out.items[i] = hold(l.items[i%len(l.items)])
			} else {
				out.items[i] = newPlace()
			}
		}
		return out
	}
}

// drawnOne implements random.choice(sequence).
func drawnOne(_ *interpreter, a arguments) value {
	switch v := a.or(0, "seq", nil).(type) {
	case *list:
		if len(v.items) > 0 {
			return hold(v.items[0])
		}
	case *iterator:
		return newPlace()
	}
	return unknown{}
}
