// SPDX-License-Identifier: Apache-2.0

package script

import (
	"snug/internal/pysrc"
	"snug/internal/shadow"
)

// value is a Python object: nil for None, bool, int, float64, string, *shadow.Tensor on the card, one of the
// types here, or unknown.
//
// Objects count their references as CPython does, because memory is freed with the last one. The code that
// evaluates an expression owns its value, and drops it, binds it to a name or puts it into a container. Native
// functions borrow their arguments; Python functions take ownership of them.
type value any

// unknown is a value that cannot be derived from the script. For a dataset, its columns may still be known.
type unknown struct {
	table  *table // its columns, or nil
	method string // the name of its method, if this is one
}

// counted is a value with a reference count.
type counted interface {
	hold()
	release()
}

func hold(v value) value {
	switch v := v.(type) {
	case *shadow.Tensor:
		v.Hold()
	case counted:
		v.hold()
	}
	return v
}

func drop(v value) {
	switch v := v.(type) {
	case *shadow.Tensor:
		v.Drop()
	case counted:
		v.release()
	}
}

func dropAll(vs []value) {
	for _, v := range vs {
		drop(v)
	}
}

// refs counts the references to an object beyond its creator's.
type refs struct{ more int }

func (r *refs) hold() { r.more++ }

// last drops a reference and reports whether it was the last.
func (r *refs) last() bool {
	r.more--
	return r.more < 0
}

// list is a list, a tuple or a set.
type list struct {
	refs
	items  []value
	tuple  bool
	opaque bool     // one of transformers' Cache classes, which is not a list for isinstance
	unseen bool     // made from unknown items, so it is empty only here
	most   int      // maxlen of a deque; 0 for no limit
	names  []string // the fields of a named tuple
	loose  *random  // the random number that its length is the most of; nil if its length is exact
}

func (l *list) release() {
	if l.last() {
		for i := len(l.items) - 1; i >= 0; i-- { // from last to first, as in CPython's list_dealloc
			drop(l.items[i])
		}
		l.items = nil
	}
}

// dict is a dictionary in insertion order. A record is a dict whose items are also attributes, like transformers'
// ModelOutput.
type dict struct {
	refs
	keys    []value
	vals    []value
	record  bool
	open    bool          // there may be additional, unknown keys
	table   bool          // the columns of a dataset
	batch   bool          // a batch of an unknown dataset, which may also be a tuple
	sized   bool          // a batch whose tensors already have the right size
	names   bool          // the variables of a scope, as globals() returns them
	missing value         // makes values for missing keys, if set
	index   map[value]int // position of each key, if there are many
}

// indexed is the number of keys at which a dict starts to use an index instead of a linear search.
const indexed = 32

func (d *dict) release() {
	if d.last() {
		dropAll(d.vals)
		d.keys, d.vals, d.index = nil, nil, nil
	}
}

func (d *dict) find(key value) int {
	if d.index != nil && simple(key) {
		if i, ok := d.index[key]; ok {
			return i
		}
		return -1
	}
	for i, k := range d.keys {
		if same(k, key) {
			return i
		}
	}
	return -1
}

// get borrows the value of a key.
func (d *dict) get(key value) (value, bool) {
	if i := d.find(key); i >= 0 {
		return d.vals[i], true
	}
	return nil, false
}

// set stores v; it takes ownership of v.
func (d *dict) set(key, v value) {
	if i := d.find(key); i >= 0 {
		old := d.vals[i]
		d.vals[i] = v
		drop(old)
		return
	}
	d.keys, d.vals = append(d.keys, key), append(d.vals, v)
	if d.index != nil && simple(key) {
		d.index[key] = len(d.keys) - 1
	} else if len(d.keys) == indexed {
		d.reindex()
	}
}

// reindex builds the index of the keys. Keys that are not simple are found by linear search.
func (d *dict) reindex() {
	d.index = make(map[value]int, 2*len(d.keys))
	for i, k := range d.keys {
		if simple(k) {
			d.index[k] = i
		}
	}
}

// simple reports whether a key can be looked up in the index.
func simple(key value) bool {
	switch key.(type) {
	case nil, bool, int, string:
		return true
	}
	return false
}

func (d *dict) remove(key value) {
	if i := d.find(key); i >= 0 {
		old := d.vals[i]
		d.keys = append(d.keys[:i:i], d.keys[i+1:]...)
		d.vals = append(d.vals[:i:i], d.vals[i+1:]...)
		if d.index != nil {
			d.reindex()
		}
		drop(old)
	}
}

// same compares simple values; other values are equal only to themselves.
func same(a, b value) bool {
	defer func() { _ = recover() }() // values of types that cannot be compared are different
	return a == b
}

// class is a class defined in a Python file.
type class struct {
	name   string
	bases  []value
	attrs  dict
	data   bool     // it is a dataclass
	fields []string // annotated names in order: the fields of a dataclass
	types  map[string]pysrc.Expr
}

// instance is an object of a class defined in a Python file.
type instance struct {
	refs
	class   *class
	attrs   dict
	buffers map[string]bool // attributes set by register_buffer

	before, after []*hookHandle // hooks around its forward
}

func (o *instance) release() {
	if o.last() {
		o.attrs.release()
	}
}

// function is a function defined in a Python file, with the scope it was defined in.
type function struct {
	refs
	name     string
	params   []pysrc.Param
	defaults []value // one per parameter; none{} if it has no default
	body     []pysrc.Stmt
	result   pysrc.Expr // result of a lambda
	scope    *scope
	file     *pysrc.File
	info     *funcInfo
	owner    *class // its class, if it is a method
	plain    bool   // a static method
	ofClass  bool   // a class method
}

func (f *function) release() {
	if f.last() {
		f.scope.release()
		dropAll(f.defaults)
	}
}

// method is a function bound to an object.
type method struct {
	refs
	self value
	fn   *function
}

func (m *method) release() {
	if m.last() {
		drop(m.self)
		drop(m.fn)
	}
}

// bound is an attribute of a native object. It can be called, and may have attributes itself.
type bound struct {
	refs
	self value
	name string
}

func (b *bound) release() {
	if b.last() {
		drop(b.self)
	}
}

// super is super(): the object, with attributes looked up in the bases of a class.
type super struct {
	refs
	self  value
	above *class
}

func (s *super) release() {
	if s.last() {
		drop(s.self)
	}
}

// namespace is a module, or anything in a module, identified by its dotted name.
type namespace string

// iterator yields values one by one.
type iterator struct {
	refs
	next  func() (value, bool) // returns an owned value
	end   func()
	size  int            // number of values, -1 if unknown
	data  bool           // the values are batches
	skip  func() bool    // advances to the last value, if it differs from the rest
	seek  func(left int) // advances until the given number of values remains
	whole bool           // loops over it are not shortened
	few   bool           // a short list in the script, such as the stages of a training run
}

func (it *iterator) release() {
	if it.last() && it.end != nil {
		it.end()
	}
}

// hostTensor is a tensor in host memory.
type hostTensor struct {
	size   []int
	dtype  shadow.DType
	causal bool // an upper triangular mask

	least, most int     // bounds of its random integers; both 0 if unknown
	loose       *random // the random number that its size is the most of; nil if its size is exact
	last        bool    // in torch.channels_last
}

// dtypeValue is a dtype such as torch.float32.
type dtypeValue shadow.DType

// sizeValue is a torch.Size.
type sizeValue []int

// partial is a functools.partial, or anything else that calls a function with additional arguments.
type partial struct {
	refs
	fn   value
	args arguments
}

func (p *partial) release() {
	if p.last() {
		drop(p.fn)
		p.args.drop()
	}
}

// arguments are the arguments of a call.
type arguments struct {
	pos   []value
	names []string
	named []value
}

func (a arguments) drop() {
	dropAll(a.pos)
	dropAll(a.named)
}

// held returns the arguments, each with its own reference.
func (a arguments) held() arguments {
	for _, v := range a.pos {
		hold(v)
	}
	for _, v := range a.named {
		hold(v)
	}
	return a
}

// get borrows an argument by position or name; i is -1 for a keyword-only argument.
func (a arguments) get(i int, name string) (value, bool) {
	if i >= 0 && i < len(a.pos) {
		return a.pos[i], true
	}
	for k, n := range a.names {
		if n == name {
			return a.named[k], true
		}
	}
	return nil, false
}

// or is get with a default.
func (a arguments) or(i int, name string, otherwise value) value {
	if v, ok := a.get(i, name); ok {
		return v
	}
	return otherwise
}

func tupleOf(vs ...value) *list { return &list{items: vs, tuple: true} }
