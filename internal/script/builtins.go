// SPDX-License-Identifier: Apache-2.0

package script

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"snug/internal/shadow"
)

// natives holds the known functions by their dotted names.
var natives map[string]func(in *interpreter, a arguments) value

// register fills the native tables when the first script is followed, because most runs of snug follow none.
var register = sync.OnceFunc(func() {
	natives = map[string]func(*interpreter, arguments) value{}
	for name, f := range map[string]func(*interpreter, arguments) value{
		"print": nothing, "len": length, "range": ranged, "enumerate": enumerated, "zip": zipped,
		"int": toInt, "float": toFloat, "str": toStr, "bool": toBool, "list": toList, "tuple": toTuple, "set": toSet,
		"dict": toDict, "iter": iterOf, "next": nextOf, "isinstance": isInstance, "hasattr": hasAttr, "getattr": getAttr,
		"setattr": setAttr, "sum": summed, "min": extreme(-1), "max": extreme(1),
		"reversed": toReversed, "map": mapped, "any": anyOf(true), "all": anyOf(false), "type": typeOf,
		"callable": func(*interpreter, arguments) value { return true },
	} {
		natives["builtins."+name] = f
	}
	for _, name := range []string{"tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.notebook.tqdm", "tqdm.trange"} {
		natives[name] = wrapped
	}
	natives["tqdm.trange"] = ranged
	natives["itertools.cycle"] = cycled
	natives["itertools.islice"] = isliced
	natives["itertools.chain"] = chained
	natives["functools.partial"] = newPartial
	natives["collections.deque"] = newDeque
	natives["collections.defaultdict"] = func(_ *interpreter, a arguments) value { return &dict{missing: hold(a.or(0, "default_factory", nil))} }
	natives["collections.OrderedDict"] = toDict
	natives["contextlib.nullcontext"] = func(*interpreter, arguments) value { return &contextValue{} }
	natives["os.environ.get"] = environment
	natives["os.getenv"] = environment
	natives["types.SimpleNamespace"] = func(_ *interpreter, a arguments) value {
		d := &dict{record: true}
		for i, n := range a.names {
			d.set(n, hold(a.named[i]))
		}
		return d
	}
	natives["builtins.filter"] = filtered
	natives["builtins.vars"] = varsOf
	natives["random.randint"] = randomInteger(0)
	natives["random.randrange"] = randomInteger(1)
	natives["random.Random"] = newGenerator
	natives["snug.load_model"] = loadModel
	natives["snug.load_reference"] = loadReference
	natives["snug.loads"] = sawModelNamed
	natives["snug.cuts_texts"] = cutsTexts
	natives["snug.planned"] = func(in *interpreter, a arguments) value {
		name, _ := a.or(0, "", nil).(string)
		if v, ok := in.Planned[name]; ok {
			return v
		}
		return a.or(1, "", nil)
	}
	registerTorch()
	registerPatterns()
	registerNumPy()
	registerNumPyFunctions()
	registerWeightNorm()
	registerParsers()
	registerNames()
	registerTrainer()
	registerSentences()
	registerTables()
	registerAfterwards()
	registerPictures()
	registerPreferences()
	registerSeveralCards()
	registerCompletions()
	registerPEFT()
	registerQuantization()
	registerObjects()
	registerModules()
	registerTorchtune()
	registerFunctional()
	registerNumbers()
	registerImages()
	registerVolumes()
	registerActivations()
	registerMethods()
	registerCounts()
	registerScatter()
	registerShaping()
	registerFiles()
	registerAttention()
	registerDataclasses()
	registerCollections()
	registerCheckpoint()
	registerAutograd()
})

func nothing(*interpreter, arguments) value { return nil }

// environment implements os.environ.get: no variable is set.
func environment(_ *interpreter, a arguments) value { return hold(a.or(1, "default", nil)) }

func length(in *interpreter, a arguments) value {
	switch v := a.or(0, "", nil).(type) {
	case *list:
		if v.unseen && len(v.items) == 0 {
			return unknown{}
		}
		return len(v.items)
	case *dict:
		return len(v.keys)
	case string:
		return utf8.RuneCountInString(v)
	case *submodule:
		return v.blocks(in)
	case sizeValue:
		return len(v)
	case *shadow.Tensor:
		return v.Size(0)
	case *hostTensor:
		return v.size[0]
	case *loader:
		if v.size >= 0 {
			return v.size
		}
	case *iterator:
		if v.size >= 0 {
			return v.size
		}
	case *instance:
		if n := in.length(v); n >= 0 {
			return n
		}
	}
	return unknown{}
}

func ranged(_ *interpreter, a arguments) value {
	n := make([]int, len(a.pos))
	for i, v := range a.pos {
		k, ok := v.(int)
		if !ok {
			return &iterator{size: -1, next: counting(0, 1<<30, 1)}
		}
		n[i] = k
	}
	from, to, step := 0, 0, 1
	switch len(n) {
	case 1:
		to = n[0]
	case 2:
		from, to = n[0], n[1]
	case 3:
		from, to, step = n[0], n[1], n[2]
	}
	if step == 0 {
		return unknown{}
	}
	size := max((to-from+step-sign(step))/step, 0)
	return &iterator{size: size, next: counting(from, size, step)}
}

func sign(n int) int {
	if n < 0 {
		return -1
	}
	return 1
}

func counting(from, size, step int) func() (value, bool) {
	i := 0
	return func() (value, bool) {
		if i >= size {
			return nil, false
		}
		i++
		return from + (i-1)*step, true
	}
}

func enumerated(in *interpreter, a arguments) value {
	of := in.iterate(a.or(0, "iterable", nil))
	if of == nil {
		of = in.unknownItems()
	}
	i, _ := a.or(1, "start", 0).(int)
	i--
	var kept value // enumerate reuses its tuple, so the tuple keeps the last item alive
	return &iterator{
		size: of.size, data: of.data, whole: of.whole, end: func() { drop(of); drop(kept) },
		skip: func() bool { return of.skip != nil && of.skip() },
		next: func() (value, bool) {
			v, ok := of.next()
			if !ok {
				return nil, false
			}
			i++
			drop(kept)
			kept = hold(v)
			return tupleOf(i, v), true
		},
	}
}

func zipped(in *interpreter, a arguments) value {
	var its []*iterator
	out := &iterator{size: -1}
	for _, v := range a.pos {
		it := in.iterate(v)
		if it == nil {
			it = in.unknownItems()
		}
		its = append(its, it)
		out.data = out.data || it.data
		if it.size >= 0 && (out.size < 0 || it.size < out.size) {
			out.size = it.size
		}
	}
	out.end = func() {
		for _, it := range its {
			drop(it)
		}
	}
	out.next = func() (value, bool) {
		row := &list{tuple: true}
		for _, it := range its {
			v, ok := it.next()
			if !ok {
				drop(row)
				return nil, false
			}
			row.items = append(row.items, v)
		}
		return row, true
	}
	return out
}

func toInt(_ *interpreter, a arguments) value {
	switch v := a.or(0, "", nil).(type) {
	case int, *place:
		return v
	case *hostTensor:
		if v.numel() == 1 {
			return placeIn(v.least, v.most)
		}
	case float64:
		return int(v)
	case bool:
		return asInt(v)
	case string:
		if n, err := strconv.Atoi(strings.TrimSpace(v)); err == nil {
			return n
		}
	}
	return unknown{}
}

func toFloat(_ *interpreter, a arguments) value {
	v := a.or(0, "", nil)
	switch v := v.(type) {
	case *hostTensor:
		if v.numel() == 1 {
			return &hostTensor{size: []int{}, dtype: shadow.Float64}
		}
	case *place:
		return &hostTensor{size: []int{}, dtype: shadow.Float64}
	}
	if x, ok := number(v); ok {
		return x
	}
	if s, ok := v.(string); ok {
		if x, err := strconv.ParseFloat(s, 64); err == nil {
			return x
		}
	}
	return unknown{}
}

func toStr(_ *interpreter, a arguments) value {
	if s, ok := text1(a.or(0, "", "")); ok {
		return s
	}
	return unknown{}
}

// text1 returns str(v) for a simple value.
func text1(v value) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case int:
		return strconv.Itoa(v), true
	case bool:
		if v {
			return "True", true
		}
		return "False", true
	case nil:
		return "None", true
	case float64:
		return fmt.Sprint(v), true
	case pathValue:
		return string(v), true
	case dtypeValue:
		return "torch." + dtypeNames[shadow.DType(v)], true
	}
	return "", false
}

func toBool(_ *interpreter, a arguments) value {
	yes, known := truth(a.or(0, "", nil))
	if !known {
		return unknown{}
	}
	return yes
}

func toList(in *interpreter, a arguments) value {
	out := &list{}
	if v, ok := a.get(0, ""); ok {
		if isUnknown(v) {
			return unknown{}
		}
		out.items = in.items(v, maxRange)
	}
	return out
}

// newDeque implements collections.deque(iterable, maxlen).
func newDeque(in *interpreter, a arguments) value {
	v := toList(in, arguments{pos: a.pos[:min(1, len(a.pos))]})
	if l, ok := v.(*list); ok {
		l.most, _ = a.or(1, "maxlen", 0).(int)
		l.shorten()
	}
	return v
}

// shorten drops the oldest items of a deque beyond its maxlen.
func (l *list) shorten() {
	n := len(l.items) - l.most
	if l.most == 0 || n <= 0 {
		return
	}
	gone := l.items[:n]
	l.items = l.items[n:]
	dropAll(gone)
}

// toSet returns a list of different values. Of a text, all letters count, however long it is.
func toSet(in *interpreter, a arguments) value {
	if text, ok := a.or(0, "", nil).(string); ok {
		a = arguments{pos: []value{string(slices.Compact(slices.Sorted(slices.Values([]rune(text)))))}}
	}
	v := toList(in, a)
	if l, ok := v.(*list); ok {
		l.unite()
	}
	return v
}

// unite removes repeated strings and integers from a set.
func (l *list) unite() {
	seen := map[value]bool{}
	l.items = slices.DeleteFunc(l.items, func(v value) bool {
		switch v.(type) {
		case string, int:
			again := seen[v]
			seen[v] = true
			return again
		}
		return false
	})
}

func toTuple(in *interpreter, a arguments) value {
	v := toList(in, a)
	if l, ok := v.(*list); ok {
		l.tuple = true
	}
	return v
}

func toReversed(in *interpreter, a arguments) value {
	v := toList(in, a)
	if l, ok := v.(*list); ok {
		for i, j := 0, len(l.items)-1; i < j; i, j = i+1, j-1 {
			l.items[i], l.items[j] = l.items[j], l.items[i]
		}
	}
	return v
}

func toDict(in *interpreter, a arguments) value {
	d := &dict{}
	if v, ok := a.get(0, ""); ok {
		in.merge(d, v)
	}
	for i, n := range a.names {
		d.set(n, hold(a.named[i]))
	}
	return d
}

func iterOf(in *interpreter, a arguments) value {
	if it := in.iterate(a.or(0, "", nil)); it != nil {
		return it
	}
	return in.unknownItems()
}

func nextOf(in *interpreter, a arguments) value {
	if l, ok := a.or(0, "", nil).(*list); ok { // a generator expression: its values have already been computed
		if len(l.items) == 0 {
			return hold(a.or(1, "", unknown{}))
		}
		first := l.items[0]
		l.items = l.items[1:]
		return first
	}
	it, ok := a.or(0, "", nil).(*iterator)
	if !ok {
		return in.mystery(in.Batch)
	}
	if v, ok := it.next(); ok {
		return v
	}
	return hold(a.or(1, "", unknown{}))
}

func isInstance(in *interpreter, a arguments) value {
	kinds := []value{a.or(1, "", nil)}
	if l, ok := kinds[0].(*list); ok {
		kinds = l.items
	}
	sure := true
	for _, k := range kinds {
		yes, known := instanceOf(a.or(0, "", nil), k)
		if m, ok := a.or(0, "", nil).(*submodule); ok && !(yes && known) {
			yes, known = m.isOf(in, k)
		}
		if yes && known {
			return true
		}
		sure = sure && known
	}
	if !sure {
		return unknown{}
	}
	return false
}

// instanceOf reports whether v is an instance of kind, and whether that is known.
func instanceOf(v, kind value) (yes, known bool) {
	if isUnknown(v) {
		return false, false
	}
	if c, ok := kind.(*class); ok {
		if _, native := v.(*optimizerValue); native {
			return c.name == "Optimizer", true
		}
		o, ok := v.(*instance)
		return ok && (o.class == c || o.class.derives(c.name)), true
	}
	name, _ := kind.(namespace)
	if yes, known := objectOf(v, name); known {
		return yes, true
	}
	switch name {
	case "torch.Tensor":
		_, card := v.(*shadow.Tensor)
		_, host := v.(*hostTensor)
		return card || host, true
	case "builtins.dict", "collections.abc.Mapping", "typing.Mapping":
		_, ok := v.(*dict)
		return ok, true
	case "builtins.list":
		l, ok := v.(*list)
		return ok && !l.tuple && !l.opaque, true
	case "builtins.tuple":
		l, ok := v.(*list)
		return ok && l.tuple, true
	case "builtins.type":
		_, ok := v.(*class)
		return ok, true
	case "builtins.bool":
		_, ok := v.(bool)
		return ok, true
	case "builtins.str":
		_, ok := v.(string)
		return ok, true
	case "builtins.int":
		_, ok := v.(int)
		return ok, true
	case "builtins.float":
		_, ok := v.(float64)
		return ok, true
	}
	switch v.(type) {
	case nil, bool, int, float64, string, *list, *dict:
		return false, true
	}
	return false, false
}

func hasAttr(in *interpreter, a arguments) value {
	name, _ := a.or(1, "", "").(string)
	v := in.getattr(a.or(0, "", nil), name)
	defer drop(v)
	if _, ok := v.(*bound); ok {
		return false
	}
	if isUnknown(v) {
		return unknown{}
	}
	return true
}

func getAttr(in *interpreter, a arguments) value {
	name, ok := a.or(1, "", "").(string)
	if !ok {
		return unknown{}
	}
	v := in.getattr(a.or(0, "", nil), name)
	if _, missing := v.(*bound); missing {
		if otherwise, ok := a.get(2, ""); ok {
			drop(v)
			return hold(otherwise)
		}
	}
	return v
}

func setAttr(in *interpreter, a arguments) value {
	name, ok := a.or(1, "", nil).(string)
	if !ok {
		in.note("setattr sets an attribute whose name is known only at run time; it is not followed")
		return nil
	}
	in.setattr(a.or(0, "", nil), name, hold(a.or(2, "", nil)))
	return nil
}

// summed implements sum(…). Tensors are added one after the other.
func summed(in *interpreter, a arguments) value {
	var out value = hold(a.or(1, "start", 0))
	for _, v := range in.items(a.or(0, "", nil), maxRange) {
		next := in.binary("+", out, v)
		drop(out)
		drop(v)
		out = next
	}
	return out
}

func extreme(sign float64) func(*interpreter, arguments) value {
	return func(in *interpreter, a arguments) value {
		vs := a.pos
		if len(vs) == 1 {
			vs = in.items(vs[0], maxRange)
			defer dropAll(vs)
		}
		var best value
		for _, v := range vs {
			x, ok := number(v)
			if !ok {
				return unknown{}
			}
			if y, _ := number(best); best == nil || sign*x > sign*y {
				best = v
			}
		}
		if best == nil {
			return unknown{}
		}
		return best
	}
}

func mapped(in *interpreter, a arguments) value {
	out := &list{}
	for _, v := range in.items(a.or(1, "", nil), maxRange) {
		out.items = append(out.items, in.invoke(a.or(0, "", nil), arguments{pos: []value{v}}))
	}
	return out
}

// varsOf implements vars(o), the attributes of an object.
func varsOf(in *interpreter, a arguments) value {
	switch o := a.or(0, "", nil).(type) {
	case nil:
		return namesOf(in.scope())
	case *dict:
		d := &dict{}
		in.merge(d, o)
		d.open = false
		return d
	case *instance:
		return hold(&o.attrs)
	}
	return unknown{}
}

// filtered implements filter(f, items). Items whose test is unknown are kept.
func filtered(in *interpreter, a arguments) value {
	out := &list{}
	for _, v := range in.items(a.or(1, "", nil), maxRange) {
		test := hold(v)
		if f := a.or(0, "", nil); f != nil {
			test = in.invoke(f, arguments{pos: []value{test}})
		}
		yes, known := truth(test)
		drop(test)
		if yes || !known {
			out.items = append(out.items, v)
			continue
		}
		drop(v)
	}
	return out
}

func anyOf(want bool) func(*interpreter, arguments) value {
	return func(in *interpreter, a arguments) value {
		if isUnknown(a.or(0, "", nil)) {
			return unknown{}
		}
		vs := in.items(a.or(0, "", nil), maxRange)
		defer dropAll(vs)
		sure := true
		for _, v := range vs {
			yes, known := truth(v)
			if known && yes == want {
				return want
			}
			sure = sure && known
		}
		if !sure {
			return unknown{}
		}
		return !want
	}
}

func typeOf(_ *interpreter, a arguments) value {
	switch o := a.or(0, "", nil).(type) {
	case bool:
		return namespace("builtins.bool")
	case int:
		return namespace("builtins.int")
	case float64:
		return namespace("builtins.float")
	case string:
		return namespace("builtins.str")
	case *instance:
		return o.class
	case *dict:
		return &dictType{record: o.record, batch: o.batch}
	case *list:
		if o.tuple {
			return namespace("builtins.tuple")
		}
		return namespace("builtins.list")
	}
	return unknown{}
}

// wrapped returns its argument, as tqdm does.
func wrapped(_ *interpreter, a arguments) value {
	v, ok := a.get(0, "iterable")
	if !ok {
		return unknown{}
	}
	return hold(v)
}

func cycled(in *interpreter, a arguments) value {
	of := hold(a.or(0, "", nil))
	it := in.iterate(of)
	if it == nil {
		return in.unknownItems()
	}
	return &iterator{size: -1, data: true, end: func() { drop(it); drop(of) }, next: func() (value, bool) {
		v, ok := it.next()
		if !ok {
			drop(it)
			it = in.iterate(of)
			v, ok = it.next()
		}
		return v, ok
	}}
}

func isliced(in *interpreter, a arguments) value {
	it := in.iterate(a.or(0, "", nil))
	if it == nil {
		it = in.unknownItems()
	}
	n, ok := a.or(1, "", nil).(int)
	if !ok {
		return it
	}
	i := 0
	return &iterator{size: n, data: it.data, end: func() { drop(it) }, next: func() (value, bool) {
		if i >= n {
			return nil, false
		}
		i++
		return it.next()
	}}
}

func chained(in *interpreter, a arguments) value {
	out := &list{}
	for _, v := range a.pos {
		out.items = append(out.items, in.items(v, maxRange)...)
	}
	return out
}

func newPartial(_ *interpreter, a arguments) value {
	if len(a.pos) == 0 {
		return unknown{}
	}
	p := &partial{fn: hold(a.pos[0])}
	for _, v := range a.pos[1:] {
		p.args.pos = append(p.args.pos, hold(v))
	}
	for i, n := range a.names {
		p.args.names, p.args.named = append(p.args.names, n), append(p.args.named, hold(a.named[i]))
	}
	return p
}
