// SPDX-License-Identifier: Apache-2.0

package script

import "snug/internal/pysrc"

// Functions of the module dataclasses. A dataclass's constructor is in calls.go.

func registerDataclasses() {
	natives["dataclasses.fields"] = fieldsOf
	natives["dataclasses.asdict"] = func(in *interpreter, a arguments) value { return in.asDict(a.or(0, "obj", nil)) }
	natives["dataclasses.replace"] = replaced
	natives["dataclasses.is_dataclass"] = func(_ *interpreter, a arguments) value { return classOf(a.or(0, "obj", nil)) != nil }
}

// classOf returns v if it is a class, its class if it is an object, and nil otherwise.
func classOf(v value) *class {
	switch v := v.(type) {
	case *class:
		return v
	case *instance:
		return v.class
	}
	return nil
}

// fieldsOf implements dataclasses.fields(…): the name, type and default of each field.
func fieldsOf(_ *interpreter, a arguments) value {
	c := classOf(a.or(0, "class_or_instance", nil))
	if c == nil {
		return unknown{}
	}
	out := &list{tuple: true}
	for _, name := range c.allFields() {
		f := &dict{record: true, open: true}
		f.set("name", name)
		f.set("type", c.fieldType(name))
		if v, owner := c.find(name); owner != nil {
			f.set("default", hold(v))
		} else {
			f.set("default", namespace("dataclasses.MISSING"))
		}
		out.items = append(out.items, f)
	}
	return out
}

// fieldType returns the type of a field if it is one of Python's simple types.
func (c *class) fieldType(name string) value {
	if n, ok := c.types[name].(*pysrc.Name); ok {
		switch n.ID {
		case "int", "float", "str", "bool":
			return namespace("builtins." + n.ID)
		}
	}
	for _, b := range c.bases {
		if base, ok := b.(*class); ok && c.types[name] == nil {
			if t := base.fieldType(name); !isUnknown(t) {
				return t
			}
		}
	}
	return unknown{}
}

// asDict implements dataclasses.asdict(…), including nested objects.
func (in *interpreter) asDict(v value) value {
	o, ok := v.(*instance)
	if !ok {
		return hold(v)
	}
	d := &dict{}
	for _, name := range o.class.allFields() {
		x := in.getattr(o, name)
		d.set(name, in.asDict(x))
		drop(x)
	}
	return d
}

// replaced implements dataclasses.replace(…): a copy with some values replaced.
func replaced(in *interpreter, a arguments) value {
	o, ok := a.or(0, "obj", nil).(*instance)
	if !ok {
		return unknown{}
	}
	d := &dict{}
	in.merge(d, &o.attrs)
	for i, n := range a.names {
		d.set(n, hold(a.named[i]))
	}
	var all arguments
	for i, k := range d.keys {
		if name, ok := k.(string); ok {
			all.names, all.named = append(all.names, name), append(all.named, d.vals[i])
		}
	}
	return in.construct(o.class, all)
}
