// SPDX-License-Identifier: Apache-2.0

package script

import (
	"strings"

	"snug/internal/shadow"
)

// attributed is a native object with its own attributes.
type attributed interface {
	// attr returns the attribute, owned by the caller, or false if it does not exist.
	attr(in *interpreter, name string) (value, bool)
}

// getattr returns o.name; it borrows o.
func (in *interpreter) getattr(o value, name string) value {
	switch o := o.(type) {
	case *instance:
		return in.instanceAttr(o, name)
	case *class:
		if v, _ := o.find(name); v != nil {
			if fn, ok := v.(*function); ok && fn.ofClass {
				return &method{self: o, fn: hold(fn).(*function)}
			}
			return hold(v)
		}
	case *super:
		return in.superAttr(o, name)
	case namespace:
		return in.namespaceAttr(o, name)
	case *dict:
		if o.record {
			if v, ok := o.get(name); ok {
				return hold(v)
			}
			if name == "__dict__" {
				return hold(o)
			}
		}
	case unknown:
		return o.attribute(name)
	case *list:
		if v, ok := o.field(name); ok {
			return v
		}
	case string:
		if v, ok := deviceAttr(o, name); ok {
			return v
		}
	case *shadow.Tensor:
		if v, ok := in.tensorAttr(o, name); ok {
			return v
		}
	case *hostTensor:
		if v, ok := in.hostAttr(o, name); ok {
			return v
		}
	}
	if a, ok := o.(attributed); ok {
		if v, ok := a.attr(in, name); ok {
			return v
		}
	}
	return &bound{self: hold(o), name: name}
}

func (in *interpreter) namespaceAttr(o namespace, name string) value {
	if m := in.imported(string(o)); m != nil {
		if v, ok := m.vars.get(name); ok {
			return hold(v)
		}
	}
	path := canonical(string(o) + "." + name)
	if v, ok := constants[path]; ok {
		return v
	}
	if path == "sys.argv" {
		return in.commandLine()
	}
	if name == "__dict__" { // models.__dict__["resnet18"] is models.resnet18
		return &modulesDict{o}
	}
	if strings.HasPrefix(path, "builtins.") {
		return unknown{}
	}
	return in.elsewhere(string(o) + "." + name)
}

// find borrows an attribute from the class or one of its bases; owner is the class that defines it.
func (c *class) find(name string) (v value, owner *class) {
	if v, ok := c.attrs.get(name); ok {
		return v, c
	}
	for _, b := range c.bases {
		if base, ok := b.(*class); ok {
			if v, owner := base.find(name); owner != nil {
				return v, owner
			}
		}
	}
	return nil, nil
}

// derives reports whether the class has a base with this name.
func (c *class) derives(name string) bool {
	for _, b := range c.bases {
		switch b := b.(type) {
		case *class:
			if b.name == name || b.derives(name) {
				return true
			}
		case namespace:
			if string(b) == name || strings.HasSuffix(string(b), "."+name) {
				return true
			}
		}
	}
	return false
}

func (in *interpreter) instanceAttr(o *instance, name string) value {
	if v, ok := o.attrs.get(name); ok {
		return hold(v)
	}
	if v, owner := o.class.find(name); owner != nil {
		return in.methodOf(o, v)
	}
	if p := o.parametrized(name); p != nil {
		return in.invoke(p, arguments{})
	}
	switch name {
	case "training":
		if isModule(o) {
			return true
		}
	case "__class__":
		return o.class
	case "__dict__":
		return hold(&o.attrs)
	case "_modules":
		if isModule(o) {
			return &modulesDict{hold(o)}
		}
	}
	if o.attrs.open {
		return unknown{}
	}
	if fn, owner := o.class.find("__getattr__"); owner != nil {
		m := in.methodOf(o, fn)
		v := in.invoke(m, arguments{pos: []value{name}})
		drop(m)
		return v
	}
	return &bound{self: hold(o), name: name}
}

// methodOf binds a class attribute to an object if it is a function.
func (in *interpreter) methodOf(o *instance, v value) value {
	fn, ok := v.(*function)
	if !ok || fn.plain {
		return hold(v)
	}
	if p, ok := fn.property(); ok {
		m := &method{self: hold(o), fn: hold(p).(*function)}
		out := in.invoke(m, arguments{})
		drop(m)
		return out
	}
	if fn.ofClass {
		return &method{self: o.class, fn: hold(fn).(*function)}
	}
	return &method{self: hold(o), fn: hold(fn).(*function)}
}

func (in *interpreter) superAttr(s *super, name string) value {
	o, ok := s.self.(*instance)
	if !ok {
		return unknown{}
	}
	for _, b := range s.above.bases {
		if base, ok := b.(*class); ok {
			if v, owner := base.find(name); owner != nil {
				return in.methodOf(o, v)
			}
		}
	}
	return &bound{self: hold(s.self), name: "super." + name}
}

// setattr implements o.name = v; it takes ownership of v.
func (in *interpreter) setattr(o value, name string, v value) {
	switch o := o.(type) {
	case *instance:
		o.register(name, v)
		o.attrs.set(name, v)
		return
	case *class:
		o.attrs.set(name, v)
		return
	case *dict:
		if o.record {
			o.set(name, v)
			return
		}
	case *shadow.Tensor:
		in.setTensorAttr(o, name, v)
	case *network:
		o.set(in, name, v)
	case *submodule:
		if !in.cutLayers(o.of, o.path+"."+name, v) {
			o.set(in, name, v)
		}
	case *configValue:
		o.set(name, v)
	}
	drop(v)
}

// getitem returns o[key]; it borrows both.
func (in *interpreter) getitem(o, key value) value {
	v := in.item(o, key)
	switch o.(type) {
	case *hostTensor, *shadow.Tensor:
		in.marks(v, in.zeros[o])
		if c, ok := in.contentsOf(o); ok && plainIndex(key) {
			in.learn(v, in.indexedContents(c, key, v))
		}
	}
	return v
}

// item is getitem, but does not mark tensors with what is known about them.
func (in *interpreter) item(o, key value) value {
	switch o := o.(type) {
	case unknown:
		return o.at(key)
	case *list:
		return in.listItem(o, key)
	case *dict:
		if _, ok := o.get(key); !ok && o.missing != nil {
			o.set(hold(key), in.invoke(o.missing, arguments{}))
		}
		return dictItem(o, key)
	case *shadow.Tensor:
		return in.indexTensor(o, key)
	case *modulesDict:
		if name, ok := key.(string); ok {
			return in.getattr(o.of, name)
		}
	case *submodule:
		l := o.list(in)
		defer drop(l)
		return in.listItem(l, key)
	case string:
		return textItem(o, key)
	case *hostTensor:
		if !plainIndex(key) {
			return in.hostIndex(o, key)
		}
		return indexHost(o, key)
	case sizeValue:
		if i, ok := key.(int); ok {
			if i < 0 {
				i += len(o)
			}
			if i >= 0 && i < len(o) {
				return o[i]
			}
		}
		if s, ok := key.(*slice); ok {
			lo, hi := s.bounds(len(o))
			return o[lo:hi]
		}
	case *instance:
		if fn, owner := o.class.find("__getitem__"); owner != nil {
			m := in.methodOf(o, fn)
			v := in.invoke(m, arguments{pos: []value{hold(key)}})
			drop(m)
			return v
		}
	case *optimizerValue:
		if key == "param_groups" {
			return unknown{}
		}
	}
	return unknown{}
}

// textItem returns text[key].
func textItem(text string, key value) value {
	letters := []rune(text)
	switch k := key.(type) {
	case int:
		if k < 0 {
			k += len(letters)
		}
		if k >= 0 && k < len(letters) {
			return string(letters[k])
		}
	case *slice:
		if k.step == nil {
			lo, hi := k.bounds(len(letters))
			return string(letters[lo:hi])
		}
	}
	return unknown{}
}

func dictItem(o *dict, key value) value {
	if v, ok := o.get(key); ok {
		return hold(v)
	}
	if i, ok := key.(int); ok && o.record && i >= 0 && i < len(o.vals) {
		return hold(o.vals[i])
	}
	if name, ok := key.(string); ok && o.batch && labelNames[name] && len(o.vals) > 0 {
		if first, ok := o.vals[0].(*hostTensor); ok && len(first.size) > 0 {
			return &hostTensor{size: first.size[:1], dtype: shadow.Int64} // the class of each sample
		}
	}
	return unknown{}
}

// labelNames are the usual names for the labels in a batch.
var labelNames = map[string]bool{"label": true, "labels": true, "target": true, "targets": true}

func (in *interpreter) listItem(o *list, key value) value {
	switch k := key.(type) {
	case int:
		if k < 0 {
			k += len(o.items)
		}
		if k >= 0 && k < len(o.items) {
			return hold(o.items[k])
		}
	case *slice:
		out := &list{tuple: o.tuple}
		for _, x := range k.every(o.items) {
			out.items = append(out.items, hold(x))
		}
		return out
	}
	return unknown{}
}

// bounds returns the range of a slice over n items, ignoring its step.
func (s *slice) bounds(n int) (lo, hi int) {
	if a, ok := s.lo.(*place); ok {
		if b, ok := s.hi.(*place); ok && a.of == b.of {
			return 0, min(max(b.plus-a.plus, 0), n)
		}
	}
	at := func(v value, otherwise int) int {
		i, ok := v.(int)
		if !ok {
			return otherwise
		}
		if i < 0 {
			i += n
		}
		return min(max(i, 0), n)
	}
	lo, hi = at(s.lo, 0), at(s.hi, n)
	return lo, max(lo, hi)
}

// setitem implements o[key] = v; it takes ownership of v.
func (in *interpreter) setitem(o, key, v value) {
	in.puts(v, o)
	switch o := o.(type) {
	case *dict:
		if o.names {
			v = in.assigned(key, v)
		}
		o.set(key, v)
		return
	case *list:
		i, ok := key.(int)
		if ok && i < 0 {
			i += len(o.items)
		}
		if ok && i >= 0 && i < len(o.items) {
			old := o.items[i]
			o.items[i] = v
			drop(old)
			return
		}
	case *instance:
		drop(in.callMethod(o, "__setitem__", hold(key), v))
		return
	case *submodule:
		in.note(notFollowed)
	case *modulesDict:
		if name, ok := key.(string); ok {
			in.setattr(o.of, name, hold(v))
		}
	case *hostTensor:
		in.putsZero(o, v)
		in.fills(o, key, v)
	case *shadow.Tensor:
		in.putsZero(o, v)
		in.fills(o, key, v)
		in.setElements(o, key, v)
	}
	drop(v)
}
