// SPDX-License-Identifier: Apache-2.0

package script

import (
	"cmp"

	"snug/internal/pysrc"
	"snug/internal/shadow"
)

// contextValue is a known context manager.
type contextValue struct {
	autocast bool
	dtype    shadow.DType // autocast's dtype; None disables autocast
	grad     *bool        // whether gradients are recorded inside, if set
	uncached bool         // autocast does not cache weights
	inferred bool         // inference mode
	bare     *network     // the model whose adapters are disabled inside
}

// withs runs a with statement: it enters the first item, and the others inside it.
func (in *interpreter) withs(items []pysrc.WithItem, body []pysrc.Stmt) (sig signal) {
	if len(items) == 0 {
		return in.block(body)
	}
	v := in.eval1(items[0].X)
	defer func() { drop(v) }()
	inner := func() { sig = in.withs(items[1:], body) }
	switch c := v.(type) {
	case *contextValue:
		c.within(in, inner)
		return sig
	case *instance:
		return in.withInstance(c, items, body)
	case *iterator:
		return in.withGenerator(c, items, body)
	case string: // a torch.device
		was := in.device
		in.device = deviceKind(c)
		inner()
		in.device = was
		return sig
	}
	if items[0].As != nil {
		in.store(items[0].As, hold(v))
	}
	inner()
	return sig
}

func (c *contextValue) within(in *interpreter, body func()) {
	if c.grad != nil {
		was := in.World.GradEnabled()
		in.World.SetGrad(*c.grad)
		defer in.World.SetGrad(was)
	}
	if c.inferred {
		in.World.Inference(body)
		return
	}
	if c.bare != nil {
		c.bare.mode.Unadapted = true
		defer func() { c.bare.mode.Unadapted = false }()
	}
	if !c.autocast {
		body()
		return
	}
	in.result.Autocasts = in.result.Autocasts || c.dtype != shadow.None
	in.result.Autocast = cmp.Or(in.result.Autocast, c.dtype)
	if c.uncached {
		in.World.AutocastUncached(c.dtype, body)
		return
	}
	in.World.Autocast(c.dtype, body)
}

// withInstance enters a context manager that the script defines.
func (in *interpreter) withInstance(o *instance, items []pysrc.WithItem, body []pysrc.Stmt) signal {
	entered := in.callMethod(o, "__enter__")
	if items[0].As != nil {
		in.store(items[0].As, entered)
	} else {
		drop(entered)
	}
	sig := in.withs(items[1:], body)
	drop(in.callMethod(o, "__exit__", nil, nil, nil))
	return sig
}

// withGenerator enters a generator function decorated with contextlib.contextmanager: it runs the function up to
// the yield, then the block, then the rest.
func (in *interpreter) withGenerator(it *iterator, items []pysrc.WithItem, body []pysrc.Stmt) signal {
	entered, _ := it.next()
	if items[0].As != nil {
		in.store(items[0].As, entered)
	} else {
		drop(entered)
	}
	sig := in.withs(items[1:], body)
	rest, _ := it.next()
	drop(rest)
	return sig
}

// callMethod calls a method of an object if the method exists.
func (in *interpreter) callMethod(o *instance, name string, args ...value) value {
	fn, owner := o.class.find(name)
	if owner == nil {
		return unknown{}
	}
	m := in.methodOf(o, fn)
	defer drop(m)
	return in.invoke(m, arguments{pos: args})
}

// autocast implements torch.autocast(device_type, dtype, enabled).
func autocast(in *interpreter, a arguments) value {
	dt := shadow.None
	if d, ok := a.or(1, "dtype", nil).(dtypeValue); ok {
		dt = shadow.DType(d)
	}
	c := in.autocastOf(dt, a.or(-1, "enabled", true))
	if cached, ok := a.or(-1, "cache_enabled", nil).(bool); ok && !cached {
		c.uncached = true
	}
	return c
}

// autocastCUDA implements torch.cuda.amp.autocast(enabled, dtype).
func autocastCUDA(in *interpreter, a arguments) value {
	dt := shadow.None
	if d, ok := a.or(1, "dtype", nil).(dtypeValue); ok {
		dt = shadow.DType(d)
	}
	return in.autocastOf(dt, a.or(0, "enabled", true))
}

func (in *interpreter) autocastOf(dt shadow.DType, enabled value) *contextValue {
	c := &contextValue{autocast: true, dtype: dt}
	if dt == shadow.None {
		c.dtype = in.Autocast
		if c.dtype == shadow.None {
			c.dtype = shadow.Float16 // autocast's default on CUDA
		}
	}
	on, known := truth(enabled)
	if !known {
		in.note("whether autocast is enabled is not known; it is assumed to be enabled")
	}
	if known && !on {
		c.dtype = shadow.None
	}
	return c
}

func noGrad(*interpreter, arguments) value { off := false; return &contextValue{grad: &off} }

// inferenceMode implements torch.inference_mode(mode).
func inferenceMode(in *interpreter, a arguments) value {
	if on, ok := a.or(0, "mode", true).(bool); ok && !on {
		return &contextValue{}
	}
	off := false
	return &contextValue{grad: &off, inferred: true}
}

func withGrad(*interpreter, arguments) value { on := true; return &contextValue{grad: &on} }

func setGrad(in *interpreter, a arguments) value {
	on, ok := a.or(0, "mode", true).(bool)
	if !ok {
		return &contextValue{}
	}
	return &contextValue{grad: &on}
}
