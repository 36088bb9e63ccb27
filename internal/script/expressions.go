// SPDX-License-Identifier: Apache-2.0

package script

import (
	"snug/internal/pysrc"
	"snug/internal/shadow"
)

// eval1 evaluates an expression; the caller owns the value.
func (in *interpreter) eval1(e pysrc.Expr) value {
	if in.evaluated++; in.evaluated > maxExpressions {
		in.tooLong("following the script requires evaluating more than %d expressions; use a built-in loop instead, such as --loop script", maxExpressions)
	}
	switch e := e.(type) {
	case nil:
		return nil
	case *pysrc.Name:
		return in.name(e.ID)
	case *pysrc.Const:
		return constant(e.Text)
	case *pysrc.Number:
		if e.IsInt {
			return int(e.Int)
		}
		return e.Float
	case *pysrc.Str:
		return e.Value
	case *pysrc.FString:
		return in.fstring(e)
	case *pysrc.Attribute:
		return in.attribute(e)
	case *pysrc.Subscript:
		o, key := in.eval1(e.X), in.eval1(e.Index)
		v := in.getitem(o, key)
		drop(key)
		drop(o)
		return v
	case *pysrc.Slice:
		return &slice{in.eval1(e.Lo), in.eval1(e.Hi), in.eval1(e.Step)}
	case *pysrc.Call:
		return in.call(e)
	case *pysrc.Tuple:
		return &list{items: in.all(e.Elts), tuple: true}
	case *pysrc.List:
		return &list{items: in.all(e.Elts)}
	case *pysrc.Set:
		return &list{items: in.all(e.Elts)}
	case *pysrc.Dict:
		return in.dict(e)
	}
	return in.operation(e)
}

// operation evaluates expressions with operators, and expressions that bind names.
func (in *interpreter) operation(e pysrc.Expr) value {
	switch e := e.(type) {
	case *pysrc.Unary:
		return in.unary(e)
	case *pysrc.Binary:
		l := in.eval1(e.L)
		mark := in.pend(l)
		r := in.eval1(e.R)
		in.pend(r)
		v := in.binary(e.Op, l, r)
		in.finish(mark)
		drop(r)
		drop(l)
		return v
	case *pysrc.BoolOp:
		return in.boolean(e)
	case *pysrc.Compare:
		return in.comparison(e)
	case *pysrc.Conditional:
		return in.conditional(e)
	case *pysrc.Lambda:
		return in.newLambda(e)
	case *pysrc.Comprehension:
		return in.comprehension(e)
	case *pysrc.Await:
		return in.eval1(e.X)
	case *pysrc.Walrus:
		v := in.eval1(e.Value)
		in.bind(e.Name, hold(v))
		return v
	case *pysrc.Yield:
		return in.yields(e)
	case *pysrc.Starred:
		return in.eval1(e.X)
	}
	return unknown{}
}

func constant(text string) value {
	switch text {
	case "True":
		return true
	case "False":
		return false
	case "None":
		return nil
	case "...":
		return ellipsis{}
	}
	return unknown{}
}

// ellipsis is ... in an index, which stands for all dimensions that are not indexed explicitly.
type ellipsis struct{}

func (in *interpreter) name(id string) value {
	if v, ok := in.scope().lookup(id); ok {
		return hold(v)
	}
	return namespace("builtins." + id)
}

// fstring evaluates the parts of an f-string for their side effects; the text is not needed.
func (in *interpreter) fstring(e *pysrc.FString) value {
	text, known := "", true
	for _, p := range e.Parts {
		v := in.eval1(p)
		s, ok := text1(v)
		text, known = text+s, known && ok && len(text)+len(s) < maxText
		drop(v)
	}
	if !known {
		return unknown{}
	}
	return text
}

// all evaluates the elements of a list or tuple display and expands starred ones.
func (in *interpreter) all(elts []pysrc.Expr) []value {
	var out []value
	for _, e := range elts {
		if s, ok := e.(*pysrc.Starred); ok {
			v := in.eval1(s.X)
			out = append(out, in.items(v, 0)...)
			drop(v)
			continue
		}
		out = append(out, in.eval1(e))
	}
	return out
}

func (in *interpreter) dict(e *pysrc.Dict) value {
	d := &dict{}
	for i, k := range e.Keys {
		if k == nil {
			v := in.eval1(e.Values[i])
			in.merge(d, v)
			drop(v)
			continue
		}
		key := in.eval1(k)
		d.set(key, in.eval1(e.Values[i]))
	}
	return d
}

// merge copies the items of a mapping v into d.
func (in *interpreter) merge(d *dict, v value) {
	switch v := v.(type) {
	case *dict:
		in.grow(len(v.keys))
		for i, k := range v.keys {
			d.set(k, hold(v.vals[i]))
		}
		d.open = d.open || v.open
	case *list:
		in.mergePairs(d, v)
	default:
		d.open = true
	}
}

// mergePairs adds a list of name-value pairs to a dict.
func (in *interpreter) mergePairs(d *dict, l *list) {
	in.grow(len(l.items))
	for _, x := range l.items {
		pair, ok := x.(*list)
		if !ok || len(pair.items) != 2 || isUnknown(pair.items[0]) {
			d.open = true
			continue
		}
		d.set(hold(pair.items[0]), hold(pair.items[1]))
	}
}

func (in *interpreter) attribute(e *pysrc.Attribute) value {
	o := in.eval1(e.X)
	v := in.getattr(o, e.Name)
	drop(o)
	return v
}

func (in *interpreter) conditional(e *pysrc.Conditional) value {
	test := in.eval1(e.Test)
	yes, _ := decided(e.Test, test)
	drop(test)
	if yes {
		return in.eval1(e.Then)
	}
	return in.eval1(e.Else)
}

func (in *interpreter) boolean(e *pysrc.BoolOp) value {
	var unsure bool
	for i, x := range e.Values {
		v := in.eval1(x)
		yes, known := decided(x, v)
		unsure = unsure || !known
		if known && yes == (e.Op == "or") || i == len(e.Values)-1 && !unsure {
			if _, plain := truth(v); !plain {
				drop(v)
				return yes
			}
			return v
		}
		drop(v)
	}
	return unknown{}
}

// comprehension makes a list, a set, a dict or a generator, in its own scope.
func (in *interpreter) comprehension(e *pysrc.Comprehension) value {
	outer := in.scope()
	outer.hold()
	own := &scope{parent: outer, globals: outer.globals, file: outer.file}
	in.scopes = append(in.scopes, own)
	var out value
	if e.Kind == "dict" {
		d := &dict{}
		in.clauses(e.Clauses, func(copied bool) bool {
			if !copied {
				key := in.eval1(e.Elt)
				d.set(key, in.eval1(e.Value))
			}
			return !copied
		})
		out = d
	} else {
		l := &list{}
		l.unseen = !in.clauses(e.Clauses, func(copied bool) bool { return in.appendTo(l, e.Elt, copied) })
		if e.Kind == "set" {
			l.unite()
		}
		out = l
	}
	in.scopes = in.scopes[:len(in.scopes)-1]
	own.release()
	return out
}

// appendTo appends the value of an element to a list, or a copy of the last item if that is a number. It reports whether
// it did.
func (in *interpreter) appendTo(l *list, element pysrc.Expr, copied bool) bool {
	if copied {
		switch l.items[len(l.items)-1].(type) {
		case int, float64, bool, *place, unknown:
		default:
			return false
		}
	}
	in.grow(1)
	if copied {
		l.items = append(l.items, l.items[len(l.items)-1])
	} else {
		l.items = append(l.items, in.eval1(element))
	}
	return true
}

// clauses runs element for each iteration of a comprehension. It reports whether its iterable is known. After maxRange
// iterations, elements are copied.
func (in *interpreter) clauses(cs []pysrc.Clause, element func(copied bool) bool) bool {
	if len(cs) == 0 {
		element(false)
		return true
	}
	c := cs[0]
	over := in.eval1(c.Iter)
	it := in.iterate(over)
	drop(over)
	if it == nil {
		return false
	}
	defer drop(it)
	for i := 0; !it.data || i < maxIterations; i++ {
		v, ok := it.next()
		if !ok {
			return true
		}
		if i > maxRange {
			drop(v)
			if len(cs) > 1 || len(c.Ifs) > 0 || !element(true) {
				return true
			}
			continue
		}
		in.store(c.Target, v)
		if in.holds(c.Ifs) {
			in.clauses(cs[1:], element)
		}
	}
	return true
}

// holds reports whether all conditions are true or unknown.
func (in *interpreter) holds(ifs []pysrc.Expr) bool {
	for _, e := range ifs {
		v := in.eval1(e)
		yes, known := truth(v)
		drop(v)
		if known && !yes {
			return false
		}
	}
	return true
}

// truth reports whether a value is true, and whether that is known.
func truth(v value) (yes, known bool) {
	switch v := v.(type) {
	case nil:
		return false, true
	case bool:
		return v, true
	case int:
		return v != 0, true
	case float64:
		return v != 0, true
	case string:
		return v != "", true
	case *list:
		return len(v.items) > 0, true
	case *dict:
		return len(v.keys) > 0, !v.open || len(v.keys) > 0
	case sizeValue:
		return len(v) > 0, true
	case unknown, *shadow.Tensor, *hostTensor, *bound, *place:
		return false, false
	case namespace:
		return true, !isUnknownName(v)
	}
	return true, true
}

// slice is a slice in a subscript.
type slice struct{ lo, hi, step value }
