// SPDX-License-Identifier: Apache-2.0

package script

import (
	"fmt"
	"slices"
	"strings"

	"snug/internal/shadow"
)

// callable is a native object that can be called. The functions are in builtins.go (Python), torch.go and
// functional.go; tensor methods are in tensors.go and tensor_methods.go.
type callable interface {
	callSelf(in *interpreter, a arguments) value
}

// methods is a native object with methods.
type methods interface {
	call(in *interpreter, name string, a arguments) value
}

// callNative calls anything but a Python function. It borrows the arguments.
func (in *interpreter) callNative(fn value, a arguments) value {
	switch f := fn.(type) {
	case namespace:
		return in.callName(string(f), a)
	case *bound:
		return in.callBound(f, a)
	case *network:
		return in.callNetwork(f, a)
	case callable:
		return f.callSelf(in, a)
	case unknown:
		return f.call(in, a)
	}
	in.noteTensors("this call", a)
	return unknown{}
}

// callName calls a function or class by its dotted name.
func (in *interpreter) callName(path string, a arguments) value {
	if v, ok := in.hostFunction(path, a); ok {
		return v
	}
	if f, ok := natives[path]; ok {
		return f(in, a)
	}
	switch {
	case modelClass(path):
		return in.newNetwork(path, "", a)
	case configClass(path):
		in.loads(path, "", a)
		c := newConfig(a)
		c.own = in.otherType(path, a)
		if _, class, _ := cutLast(path); knownType(strings.TrimSuffix(class, "Config")) == "" {
			c.unknown = class
		}
		return c
	case strings.HasPrefix(path, "transformers.") && strings.HasSuffix(path, ".shift_tokens_right"):
		return shiftedRight(a)
	case outputClass(path) && len(a.pos) == 0:
		return recordOf(in, a)
	case visionModel(path, a) != "" && in.survey != nil && !in.survey.known:
		in.sawModel(Sighting{Name: "torchvision/" + visionModel(path, a)})
	case strings.HasPrefix(path, "torchvision.models.") && in.images():
		return bareNetwork(in, a)
	case strings.HasPrefix(path, "torch.optim.lr_scheduler."), strings.HasPrefix(path, "transformers.get_"), strings.HasPrefix(path, "transformers.optimization.get_"):
		return newScheduler(a)
	case strings.HasPrefix(path, "torch.optim."), strings.HasPrefix(path, "bitsandbytes.optim."):
		return in.newOptimizer(path, a)
	}
	if owner, method, ok := cutLast(path); ok {
		if modelClass(owner) && strings.Contains(method, "from_") {
			n := in.newNetwork(owner, method, a).(*network)
			n.mode.Eval = method == "from_pretrained"
			return n
		}
		if configClass(owner) {
			in.loads(owner, method, a)
			if method == "from_pretrained" {
				return in.namedConfig(a)
			}
			c := newConfig(a)
			if kind, ok := a.or(0, "model_type", nil).(string); ok && method == "for_model" {
				delete(c.changed, "model_type")
				c.own = in.ofType(kind, a)
			}
			return c
		}
	}
	if !harmless(path) {
		in.saw(path)
		in.noteTensors(path, a)
	}
	return unknown{}
}

// outputClass reports whether a dotted name is a class of what models return, all of which are ModelOutputs.
func outputClass(path string) bool { return strings.HasPrefix(path, "transformers.modeling_outputs.") }

// visionModel returns the name of the model that a torchvision function makes, or "" if it makes none or the name
// is unknown.
func visionModel(path string, a arguments) string {
	name, ofVision := strings.CutPrefix(path, "torchvision.models.")
	switch {
	case !ofVision:
		return ""
	case name == "get_model":
		name, _ = a.or(0, "name", "").(string)
	}
	return strings.ToLower(name)
}

func cutLast(path string) (before, last string, ok bool) {
	i := strings.LastIndexByte(path, '.')
	if i < 0 {
		return "", path, false
	}
	return path[:i], path[i+1:], true
}

// harmless reports whether a function keeps none of its tensor arguments.
func harmless(path string) bool {
	for _, p := range []string{"logging.", "wandb.", "os.", "sys.", "time.", "json.", "math.", "random.", "numpy.", "warnings.", "gc.", "tqdm.", "torch.distributed.", "datasets.", "evaluate.", "mlflow.", "tensorboard", "torch.utils.tensorboard"} {
		if strings.HasPrefix(path, p) {
			return true
		}
	}
	return false
}

// callBound calls a method of a native object.
func (in *interpreter) callBound(b *bound, a arguments) value {
	switch o := b.self.(type) {
	case *shadow.Tensor:
		if !o.Here() && !anywhere[b.name] {
			return in.hostMethod(&hostTensor{size: sizeOf(o), dtype: o.DType()}, b.name, a)
		}
		if f, ok := tensorMethods[b.name]; ok {
			if strings.HasSuffix(b.name, "_") {
				in.wroteByHand(o)
			}
			return f(in, o, a)
		}
		in.note("the tensor method %s is not followed", b.name)
		return unknown{}
	case *hostTensor:
		return in.hostMethod(o, b.name, a)
	case *list:
		return in.listMethod(o, b.name, a)
	case *dict:
		return in.dictMethod(o, b.name, a)
	case string:
		return stringMethod(o, b.name, a)
	case methods:
		return o.call(in, b.name, a)
	case *instance:
		return in.moduleMethod(o, b.name, a)
	}
	return unknown{}
}

func (in *interpreter) listMethod(l *list, name string, a arguments) value {
	v := a.or(0, "", nil)
	if v, ok := l.namedTupleMethod(name, a); ok {
		return v
	}
	switch name {
	case "appendleft":
		in.insert(l, 0, v)
	case "append", "add":
		in.grow(1)
		in.puts(v, l)
		l.items = append(l.items, hold(v))
		l.shorten()
	case "extend", "update":
		in.puts(v, l)
		l.items = append(l.items, in.items(v, 0)...)
		l.shorten()
	case "clear":
		old := l.items
		l.items = nil
		dropAll(old)
	case "pop", "popleft":
		if len(l.items) == 0 {
			return unknown{}
		}
		i := len(l.items) - 1
		if k, ok := v.(int); ok && k < 0 && k+len(l.items) >= 0 {
			i = k + len(l.items)
		} else if ok && k < len(l.items) || name == "popleft" {
			i = max(k, 0)
		}
		out := l.items[i]
		l.items = append(l.items[:i:i], l.items[i+1:]...)
		return out
	case "copy":
		return in.listOperation("*", l, 1)
	case "insert":
		at, known := v.(int)
		if !known {
			at = len(l.items)
		}
		in.insert(l, at, a.or(1, "", nil))
	case "reverse":
		slices.Reverse(l.items)
	case "index", "count":
		return unknown{}
	}
	return nil
}

// insert puts v before the item with the index at, which may be negative. A queue that is full loses its last item.
func (in *interpreter) insert(l *list, at int, v value) {
	in.grow(1)
	in.puts(v, l)
	if at < 0 {
		at += len(l.items)
	}
	l.items = slices.Insert(slices.Clone(l.items), min(max(at, 0), len(l.items)), hold(v))
	if n := len(l.items); l.most > 0 && n > l.most {
		gone := l.items[l.most:]
		l.items = l.items[:l.most]
		dropAll(gone)
	}
}

func (in *interpreter) dictMethod(d *dict, name string, a arguments) value {
	key := a.or(0, "", nil)
	switch name {
	case "__setitem__":
		in.setitem(d, key, hold(a.or(1, "", nil)))
		return nil
	case "__getitem__":
		return in.item(d, key)
	case "items", "keys", "values", "to_tuple":
		return dictView(d, name)
	case "get", "setdefault":
		if v, ok := d.get(key); ok {
			return hold(v)
		}
		if d.open && name == "get" {
			return unknown{}
		}
		v := hold(a.or(1, "default", nil))
		if name == "setdefault" {
			d.set(key, hold(v))
		}
		return v
	case "pop":
		if v, ok := d.get(key); ok {
			hold(v)
			d.remove(key)
			return v
		}
		return hold(a.or(1, "default", nil))
	case "update":
		if d.names {
			in.assignAll(d, a)
			return nil
		}
		in.merge(d, key)
		for i, n := range a.names {
			d.set(n, hold(a.named[i]))
		}
		return nil
	case "copy":
		out := &dict{record: d.record, batch: d.batch}
		in.merge(out, d)
		return out
	case "clear":
		vals := d.vals
		d.keys, d.vals, d.index = nil, nil, nil
		dropAll(vals)
		return nil
	case "to":
		return in.moveBatch(d, a)
	}
	return unknown{}
}

// dictView returns the keys, the values or both.
func dictView(d *dict, name string) value {
	switch name {
	case "items":
		out := &list{}
		for i, k := range d.keys {
			out.items = append(out.items, tupleOf(k, hold(d.vals[i])))
		}
		return out
	case "keys":
		return &list{items: append([]value(nil), d.keys...)}
	case "values":
		out := &list{}
		for _, v := range d.vals {
			out.items = append(out.items, hold(v))
		}
		return out
	case "to_tuple":
		out := &list{tuple: true}
		for _, v := range d.vals {
			out.items = append(out.items, hold(v))
		}
		return out
	}
	return unknown{}
}

// moveBatch implements BatchEncoding.to, which changes the batch in place.
func (in *interpreter) moveBatch(d *dict, a arguments) value {
	for i, v := range d.vals {
		d.vals[i] = in.moved(v, a)
		drop(v)
	}
	return hold(d)
}

// newNetwork calls a model class or one of its from_… methods. The from_… methods use the dtype in the config.
func (in *interpreter) newNetwork(class, method string, a arguments) value {
	in.loads(class, method, a)
	n := &network{dtype: in.dtype, here: in.device == "cuda"}
	n.configure(in, a, method)
	if dt := in.weightType(a); dt != shadow.None {
		n.dtype = dt
	} else if in.LoadsFloat32 && method == "from_pretrained" && !choosesType(a) {
		n.dtype = shadow.Float32
	} else if stored := n.stored(in); method != "" && stored != shadow.None {
		n.dtype = stored
	} else if method != "from_pretrained" && n.dtype == shadow.None {
		n.dtype = shadow.Float32
	}
	in.refuseUnknown(class, n.config)
	n.loading.Class, n.loading.Where = class[strings.LastIndexByte(class, '.')+1:], in.place()
	if strings.HasSuffix(n.loading.Class, "EncoderModel") {
		n.config.changed["is_encoder_decoder"] = false // as T5EncoderModel sets it
	}
	n.loading.Head, n.loading.Fresh = in.headOf(n.loading.Class), method != "from_pretrained"
	if kind, ok := a.or(-1, "attn_implementation", nil).(string); ok {
		n.loading.Attention = kind
	}
	if pools, ok := a.or(-1, "add_pooling_layer", nil).(bool); ok {
		n.config.changed["add_pooling_layer"] = pools // an argument of the constructors of models without a head
	}
	n.loading.Quantized = quantization(in, a)
	if cache, ok := a.or(-1, "use_cache", nil).(bool); ok {
		n.mode.NoCache = !cache
	}
	if n.here {
		n.there(in)
	}
	return n
}

// refuseUnknown stops the script if a model is made from the configuration of a type that is not simulated.
func (in *interpreter) refuseUnknown(class string, c *configValue) {
	if c.unknown == "" {
		return
	}
	_, class, _ = cutLast(class)
	panic(stopped{&Unsimulated{fmt.Sprintf("%s: %s, which is made from a %s, is not simulated; record the run: snug profile -- python3 %s", in.place(), class, c.unknown, in.File.Path)}})
}

// weightType returns the dtype in which a model's weights are loaded, or None if the script does not specify it.
func (in *interpreter) weightType(a arguments) shadow.DType {
	for _, name := range []string{"dtype", "torch_dtype"} {
		switch v := a.or(-1, name, nil).(type) {
		case dtypeValue:
			return shadow.DType(v)
		case string:
			if dt, ok := constants["torch."+v].(dtypeValue); ok {
				return shadow.DType(dt)
			}
		}
	}
	return shadow.None
}

// choosesType reports whether from_pretrained's arguments make it load weights in a type other than float32 before
// transformers 5, without naming one.
func choosesType(a arguments) bool {
	for _, name := range []string{"load_in_4bit", "load_in_8bit", "quantization_config"} {
		if v := a.or(-1, name, nil); v != nil && v != false {
			return true
		}
	}
	return a.or(-1, "torch_dtype", a.or(-1, "dtype", nil)) == "auto"
}

func (in *interpreter) mark(p Phase) {
	if in.Mark != nil {
		in.Mark(p)
	}
}

// forwards marks the start of a forward pass in training or evaluation.
func (in *interpreter) forwards() {
	if in.World.GradEnabled() || in.compares {
		in.mark(Forward)
		return
	}
	in.mark(Evaluation)
}
