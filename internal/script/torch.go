// SPDX-License-Identifier: Apache-2.0

package script

import (
	"math"
	"slices"
	"strings"

	"snug/internal/shadow"
	"snug/internal/shadow/train"
)

// dtypeNames holds PyTorch's names for element types.
var dtypeNames = map[shadow.DType]string{
	shadow.Float32: "float32", shadow.Float16: "float16", shadow.BFloat16: "bfloat16", shadow.Float64: "float64",
	shadow.Int64: "int64", shadow.Int32: "int32", shadow.Bool: "bool", shadow.UInt8: "uint8",
	shadow.Int8: "int8", shadow.Int16: "int16", shadow.UInt16: "uint16",
}

// constants holds the values of dotted names.
var constants = map[string]value{
	"torch.float": dtypeValue(shadow.Float32), "torch.half": dtypeValue(shadow.Float16),
	"torch.double": dtypeValue(shadow.Float64), "torch.long": dtypeValue(shadow.Int64), "torch.int": dtypeValue(shadow.Int32), "torch.short": dtypeValue(shadow.Int16),
	"os.environ": namespace("os.environ"),
	"math.inf":   1e308,
}

// aliases maps dotted names to the names used here for the same thing.
var aliases = map[string]string{
	"pytorch_lightning": "lightning", "lightning.pytorch": "lightning", "lightning_fabric": "lightning.fabric",
	"lightning.fabric.Fabric": "lightning.Fabric",
	"torch.cuda.amp.autocast": "torch.amp.autocast_cuda", "torch.amp.autocast_mode.autocast": "torch.autocast",
	"torch.amp.autocast":        "torch.autocast",
	"torch.cuda.amp.GradScaler": "torch.amp.GradScaler", "torch.GradScaler": "torch.amp.GradScaler", "torch.amp.grad_scaler.GradScaler": "torch.amp.GradScaler",
	"torch.utils.data.dataloader.DataLoader": "torch.utils.data.DataLoader",
	"torch.distributions.normal":             "torch.distributions", "torch.distributions.categorical": "torch.distributions", "torch.distributions.kl": "torch.distributions",
	"torch.optim.optimizer":              "torch.optim",
	"transformers.trainer":               "transformers",
	"transformers.training_args":         "transformers",
	"transformers.training_args_seq2seq": "transformers", "transformers.trainer_seq2seq": "transformers",
	"transformers.trainer_utils": "transformers", "transformers.trainer_callback": "transformers",
	"transformers.trainer_pt_utils": "transformers", "transformers.data.data_collator": "transformers",
	"transformers.optimization.Adafactor": "transformers.Adafactor",
	"sentence_transformers.trainer":       "sentence_transformers", "sentence_transformers.training_args": "sentence_transformers",
	"sentence_transformers.data_collator": "sentence_transformers", "sentence_transformers.readers": "sentence_transformers",
	"sentence_transformers.cross_encoder.trainer": "sentence_transformers.cross_encoder", "sentence_transformers.cross_encoder.training_args": "sentence_transformers.cross_encoder",
	"sentence_transformers.sparse_encoder.trainer": "sentence_transformers.sparse_encoder", "sentence_transformers.sparse_encoder.training_args": "sentence_transformers.sparse_encoder",
	"sentence_transformers.CrossEncoder": "sentence_transformers.cross_encoder.CrossEncoder", "sentence_transformers.CrossEncoderTrainer": "sentence_transformers.cross_encoder.CrossEncoderTrainer",
	"sentence_transformers.CrossEncoderTrainingArguments": "sentence_transformers.cross_encoder.CrossEncoderTrainingArguments",
	"sentence_transformers.SparseEncoder":                 "sentence_transformers.sparse_encoder.SparseEncoder", "sentence_transformers.SparseEncoderTrainer": "sentence_transformers.sparse_encoder.SparseEncoderTrainer",
	"sentence_transformers.SparseEncoderTrainingArguments": "sentence_transformers.sparse_encoder.SparseEncoderTrainingArguments",
}

// canonical resolves the aliases in a dotted name.
func canonical(path string) string {
	for i := len(path); i > 0; i = strings.LastIndexByte(path[:i], '.') {
		if to, ok := aliases[path[:i]]; ok {
			return canonical(to + path[i:])
		}
	}
	return path
}

// isUnknownName reports whether the value of a name is unknown.
func isUnknownName(n namespace) bool { return false }

// registerTorch registers the torch functions that make, save and load tensors. Those that compute, such as
// torch.roll, are listed in functional.go and implemented in tensor_methods.go.
func registerTorch() {
	for dt, name := range dtypeNames {
		constants["torch."+name] = dtypeValue(dt)
	}
	for _, name := range []string{"randint", "randn", "rand", "zeros", "ones", "empty", "full", "arange", "randperm"} {
		natives["torch."+name] = made(name)
	}
	for name, f := range map[string]func(*interpreter, arguments) value{
		"torch.tensor": newTensor, "torch.as_tensor": newTensor, "torch.from_numpy": newTensor,
		"torch.device":                       newDevice,
		"torch.cuda.is_available":            isTrue,
		"torch.accelerator.device_count":     func(*interpreter, arguments) value { return 1 },
		"torch.accelerator.set_device_index": nothing, "torch.accelerator.set_device_idx": nothing, "torch.accelerator.synchronize": nothing,
		"torch.accelerator.is_available":        isTrue,
		"torch.accelerator.current_accelerator": func(*interpreter, arguments) value { return "cuda" },
		"torch.cuda.is_bf16_supported":          isTrue,
		"torch.cuda.device_count":               func(*interpreter, arguments) value { return 1 },
		"torch.cuda.empty_cache":                emptyCache,
		"torch.cuda.synchronize":                nothing,
		"torch.distributed.is_available":        isFalse, "torch.distributed.is_initialized": isFalse,
		"torch.distributed.get_world_size": func(*interpreter, arguments) value { return 1 },
		"torch.distributed.get_rank":       func(*interpreter, arguments) value { return 0 },
		"torch.autocast":                   autocast,
		"torch.amp.autocast_cuda":          autocastCUDA,
		"torch.no_grad":                    noGrad, "torch.inference_mode": inferenceMode, "torch.enable_grad": withGrad,
		"torch.set_grad_enabled": setGrad,
		"torch.is_grad_enabled":  func(in *interpreter, _ arguments) value { return in.World.GradEnabled() },
		"torch.amp.GradScaler":   newScaler,
		"torch.compile":          compiled,
		"snug.compiled":          compiled,
		"torch.save":             saves, "torch.load": loads,
		"torch.is_tensor": func(_ *interpreter, a arguments) value {
			y, _ := instanceOf(a.or(0, "", nil), namespace("torch.Tensor"))
			return y
		},
		"torch.utils.data.DataLoader":    newLoader,
		"torch.utils.data.TensorDataset": func(_ *interpreter, a arguments) value { return tensorDataset(a) },
		"torch.utils.data.Subset":        firstArgument, "torch.utils.data.random_split": randomSplit,
		"torch.nn.utils.clip_grad_norm_":            clipNorm,
		"torch.nn.utils.clip_grad_value_":           nothing,
		"torch.nn.parallel.DistributedDataParallel": firstArgument, "torch.nn.DataParallel": dataParallel, "torch.nn.parallel.DataParallel": dataParallel,
		"copy.deepcopy": deepcopy, "copy.copy": firstArgument,
		"torch.ones_like": filledLike, "torch.zeros_like": filledLike, "torch.full_like": filledLike, "torch.empty_like": filledLike, "torch.randn_like": filledLike, "torch.rand_like": filledLike,
		"torch.cat": concatenated(shadow.Cat), "torch.stack": stackedOf, "torch.concat": concatenated(shadow.Cat),
		"torch.hstack":      concatenated(hstacked),
		"torch.log_softmax": onTensor("log_softmax"), "torch.nn.functional.log_softmax": onTensor("log_softmax"),
		"torch.softmax": onTensor("softmax"), "torch.nn.functional.softmax": onTensor("softmax"),
		"torch.argmax": onTensor("argmax"), "torch.max": onTensor("max"), "torch.mean": onTensor("mean"), "torch.sum": onTensor("sum"),
		"torch.exp": onTensor("exp"), "torch.sigmoid": onTensor("sigmoid"), "torch.tanh": onTensor("tanh"),
		"transformers.set_seed": nothing, "gc.collect": nothing,
	} {
		natives[name] = f
	}
}

func isTrue(*interpreter, arguments) value  { return true }
func isFalse(*interpreter, arguments) value { return false }

func firstArgument(_ *interpreter, a arguments) value { return hold(a.or(0, "model", nil)) }

// dataParallel implements nn.DataParallel on one GPU, where it calls the model itself.
func dataParallel(in *interpreter, a arguments) value {
	in.note("DataParallel is simulated on one GPU; on several GPUs, each gets a part of the batch and a copy of the weights, and the first also gathers the outputs, so it needs more memory")
	return firstArgument(in, a)
}

// newDevice implements torch.device(…), keeping only the device type.
func newDevice(_ *interpreter, a arguments) value {
	if s, ok := a.or(0, "", "cuda").(string); ok {
		return s
	}
	return "cuda"
}

// made returns a function that makes a tensor of a given shape.
func made(name string) func(*interpreter, arguments) value {
	return func(in *interpreter, a arguments) value {
		t := &hostTensor{dtype: shadow.Float32}
		switch name {
		case "randint":
			t.dtype = shadow.Int64
			if least, most, ok := randomBounds(a, "low", "high"); ok && most > least {
				t.least, t.most = least, most-1
			}
			for _, v := range append(append([]value(nil), a.pos...), a.or(-1, "size", nil)) {
				switch v := v.(type) {
				case *list:
					t.size = ints(v.items)
				case sizeValue:
					t.size = v
				}
			}
		case "arange", "randperm":
			t.dtype = shadow.Int64
			if n := rangeLength(a); n >= 0 {
				t.size = []int{n}
			} else {
				in.note("the length of this range is not known; it is not counted")
			}
		case "full":
			switch a.or(1, "fill_value", nil).(type) { // the value's type determines the dtype
			case int:
				t.dtype = shadow.Int64
			case bool:
				t.dtype = shadow.Bool
			}
			switch v := a.or(0, "size", nil).(type) {
			case *list:
				t.size = ints(v.items)
			case sizeValue:
				t.size = v
			}
		default:
			t.size = sizes(a)
		}
		if dt, ok := a.or(-1, "dtype", nil).(dtypeValue); ok {
			t.dtype = shadow.DType(dt)
		}
		if t.size == nil {
			if t.size, t.loose = in.randomSizes(a); t.size == nil {
				return unknown{}
			}
		}
		in.measure(t.size)
		return in.placedOn(t, a)
	}
}

// placedOn returns a new tensor on the device that the arguments or the script choose.
func (in *interpreter) placedOn(t *hostTensor, a arguments) value {
	if d := a.or(-1, "device", nil); d != nil && deviceOf(d) == "cuda" || d == nil && in.device == "cuda" {
		there := in.onto(t)
		if trained, _ := a.or(-1, "requires_grad", false).(bool); trained {
			there.SetTrained(true)
		}
		return there
	}
	return t
}

// rangeLength returns the length of torch.arange(start, end, step), or -1 if unknown.
func rangeLength(a arguments) int {
	ends := []float64{0, 0, 1}
	for i, v := range a.pos[:min(len(a.pos), 3)] {
		x, ok := number(v)
		if !ok {
			return -1
		}
		ends[i] = x
	}
	for i, name := range []string{"start", "end", "step"} {
		if x, ok := number(a.or(-1, name, nil)); ok {
			ends[i] = x
		}
	}
	if len(a.pos) == 1 {
		ends[0], ends[1] = 0, ends[0]
	}
	if ends[2] == 0 {
		return -1
	}
	return max(int(math.Ceil((ends[1]-ends[0])/ends[2])), 0)
}

func deviceOf(v value) string {
	if s, ok := v.(string); ok {
		return deviceKind(s)
	}
	return "cuda"
}

func ints(vs []value) []int {
	out := []int{}
	for _, v := range vs {
		n, ok := v.(int)
		if !ok {
			return nil
		}
		out = append(out, n)
	}
	return out
}

func newTensor(in *interpreter, a arguments) value {
	t := &hostTensor{dtype: shadow.Float32}
	switch v := a.or(0, "data", nil).(type) {
	case *shadow.Tensor: // torch.tensor copies it, which only differs while both exist
		return tensorTo(in, v, arguments{names: a.names, named: a.named})
	case *hostTensor:
		t.size, t.dtype, t.loose = v.size, v.dtype, v.loose
	case int:
		t.size, t.dtype = []int{}, shadow.Int64
	case float64:
		t.size = []int{}
	case *list:
		t.size, t.dtype = nested(v)
		t.loose = v.loose
	case *place:
		t.size, t.dtype = []int{}, shadow.Int64
	default:
		return unknown{}
	}
	if dt, ok := a.or(-1, "dtype", nil).(dtypeValue); ok {
		t.dtype = shadow.DType(dt)
	}
	out := in.placedOn(t, a)
	if hasZero(a.or(0, "data", nil)) {
		in.marks(out, someZeros)
	}
	return out
}

// nested returns the shape of a list of lists, and the dtype of its numbers. A list made from
// unknown items is taken for many integers, as tokens and labels are.
func nested(l *list) (size []int, dt shadow.DType) {
	size, dt = []int{len(l.items)}, shadow.Float32
	if len(l.items) == 0 {
		if l.unseen {
			return []int{unseenLength}, shadow.Int64
		}
		return size, dt
	}
	switch first := l.items[0].(type) {
	case *list:
		inner, of := nested(first)
		return append(size, inner...), of
	case *hostTensor:
		if len(first.size) == 0 && first.dtype == shadow.Float64 { // Python's numbers
			return size, shadow.Float32
		}
		return append(size, first.size...), first.dtype
	case int, *place, unknown:
		dt = shadow.Int64
	case bool:
		dt = shadow.Bool
	}
	return size, dt
}

func tensorDataset(a arguments) value {
	out := &list{tuple: true}
	for _, v := range a.pos {
		out.items = append(out.items, hold(v))
	}
	return out
}

func randomSplit(in *interpreter, a arguments) value {
	out := &list{}
	l, ok := a.or(1, "lengths", nil).(*list)
	if !ok {
		return unknown{}
	}
	for _, n := range l.items {
		out.items = append(out.items, in.part(a.or(0, "dataset", nil), n))
	}
	return out
}

// part returns a subset of a dataset: n samples, or a fraction n of them.
func (in *interpreter) part(of, n value) value {
	if share, ok := n.(float64); ok {
		n = int(share * float64(max(in.length(of), 0)))
	}
	k, known := n.(int)
	switch d := of.(type) {
	case *hostTensor:
		if known && len(d.size) > 0 {
			return &hostTensor{size: append([]int{k}, d.size[1:]...), dtype: d.dtype}
		}
	case *list:
		if d.tuple { // a TensorDataset is a tuple of tensors
			part := &list{tuple: true}
			for _, t := range d.items {
				part.items = append(part.items, in.part(t, n))
			}
			return part
		}
	}
	return hold(of)
}

func clipNorm(in *interpreter, a arguments) value {
	in.mark(Update)
	in.result.Clips = true
	checked, _ := a.or(3, "error_if_nonfinite", false).(bool)
	if norm := train.ClippedNorm(in.World, in.tensors(a.or(0, "parameters", nil)), checked); norm != nil {
		return norm
	}
	return unknown{}
}

// tensors returns the tensors in a list, an iterator or parameter groups.
func (in *interpreter) tensors(v value) []*shadow.Tensor {
	switch v := v.(type) {
	case *shadow.Tensor:
		return []*shadow.Tensor{v}
	case *submodule:
		return v.parameters(in)
	case *network:
		return v.made(in).Parameters()
	case *list:
		var out []*shadow.Tensor
		for _, x := range v.items {
			if nested, ok := x.(*list); ok {
				in.grow(len(nested.items))
			}
			out = append(out, in.tensors(x)...)
		}
		return out
	case *dict:
		p, _ := v.get("params")
		return in.tensors(p)
	case *iterator:
		var out []*shadow.Tensor
		for {
			x, ok := v.next()
			if !ok {
				return out
			}
			in.grow(1)
			out = append(out, in.tensors(x)...)
			drop(x)
		}
	}
	return nil
}

func concatenated(f func(dim int, ts ...*shadow.Tensor) *shadow.Tensor) func(*interpreter, arguments) value {
	return func(in *interpreter, a arguments) value {
		l, ok := a.or(0, "tensors", nil).(*list)
		if !ok {
			return unknown{}
		}
		dim, _ := a.or(1, "dim", 0).(int)
		ts := in.tensors(l)
		if len(ts) == 0 {
			return joinedHost(l, dim)
		}
		return f(dim, ts...).Hold()
	}
}

// hstacked implements torch.hstack, which joins vectors along their only dimension and other tensors along the
// second.
func hstacked(_ int, ts ...*shadow.Tensor) *shadow.Tensor {
	return shadow.Cat(min(1, ts[0].Dim()-1), ts...)
}

// stackedOf implements torch.stack.
func stackedOf(in *interpreter, a arguments) value {
	l, ok := a.or(0, "tensors", nil).(*list)
	if !ok || len(l.items) == 0 {
		return unknown{}
	}
	if h, ok := l.items[0].(*hostTensor); ok {
		dim, _ := a.or(1, "dim", 0).(int)
		if dim < 0 {
			dim += len(h.size) + 1
		}
		if dim < 0 || dim > len(h.size) {
			return unknown{}
		}
		return &hostTensor{size: slices.Insert(slices.Clone(h.size), dim, len(l.items)), dtype: h.dtype}
	}
	if _, ok := l.items[0].(*place); ok { // an element of a tensor of integers
		return &hostTensor{size: []int{len(l.items)}, dtype: shadow.Int64}
	}
	return concatenated(shadow.Stack)(in, a)
}

func joinedHost(l *list, dim int) value {
	var out *hostTensor
	for _, v := range l.items {
		h, ok := v.(*hostTensor)
		if !ok || dim >= len(h.size) || dim < -len(h.size) {
			return unknown{}
		}
		if out == nil {
			out = &hostTensor{size: append([]int(nil), h.size...), dtype: h.dtype}
			continue
		}
		i := dim
		if i < 0 {
			i += len(h.size)
		}
		out.size[i] += h.size[i]
	}
	if out == nil {
		return unknown{}
	}
	out.loose = anyLoose(l.items)
	return out
}

// onTensor returns a function that calls a tensor method on its first argument.
func onTensor(method string) func(*interpreter, arguments) value {
	return func(in *interpreter, a arguments) value {
		t, ok := a.or(0, "input", nil).(*shadow.Tensor)
		if !ok {
			return unknown{}
		}
		return tensorMethods[method](in, t, arguments{pos: a.pos[min(1, len(a.pos)):], names: a.names, named: a.named})
	}
}

// filledLike implements torch.ones_like and similar functions.
func filledLike(in *interpreter, a arguments) value {
	dt, given := a.or(-1, "dtype", nil).(dtypeValue)
	switch t := a.or(0, "input", nil).(type) {
	case *shadow.Tensor:
		in.World.Op("full_like")
		if !given {
			dt = dtypeValue(t.DType())
		}
		return t.EmptyLike(shadow.DType(dt)).Hold()
	case *hostTensor:
		if !given {
			dt = dtypeValue(t.dtype)
		}
		return &hostTensor{size: t.size, dtype: shadow.DType(dt)}
	}
	return unknown{}
}

func emptyCache(in *interpreter, _ arguments) value {
	in.World.EmptyCache()
	return nil
}

func compiled(in *interpreter, a arguments) value {
	in.compiles()
	return firstArgument(in, a)
}

// compiles records that torch.compile is used.
func (in *interpreter) compiles() {
	in.result.Compiles = true
	in.note("torch.compile is not simulated; a compiled model usually needs less memory")
}

func deepcopy(in *interpreter, a arguments) value {
	return in.copiedValue(a.or(0, "x", nil), map[value]value{})
}

// savedTensor is a tensor stored in a file.
type savedTensor struct {
	hostTensor
	host bool // it was in host memory, and is loaded there by default
}

// saves implements torch.save; it stores the value under its path.
func saves(in *interpreter, a arguments) value {
	if in.files == nil {
		in.files = map[string]value{}
	}
	path, _ := pathText(a.or(1, "f", ""))
	in.files[path] = onDisk(a.or(0, "obj", nil))
	return nil
}

// onDisk returns a value with its tensors replaced with saved ones, which use no memory on the card.
func onDisk(v value) value {
	switch v := v.(type) {
	case *shadow.Tensor:
		return &savedTensor{hostTensor: hostTensor{size: sizeOf(v), dtype: v.DType()}}
	case *hostTensor:
		return &savedTensor{hostTensor: *v, host: true}
	case *dict:
		d := &dict{record: v.record}
		for i, k := range v.keys {
			d.set(k, onDisk(v.vals[i]))
		}
		return d
	case *list:
		l := &list{tuple: v.tuple}
		for _, x := range v.items {
			l.items = append(l.items, onDisk(x))
		}
		return l
	}
	return v
}

func loads(in *interpreter, a arguments) value {
	path, _ := pathText(a.or(0, "f", ""))
	v, ok := in.files[path]
	if !ok {
		return unknown{}
	}
	device := ""
	if to, ok := a.get(1, "map_location"); ok && to != nil {
		device = deviceOf(to)
	}
	return in.fromDisk(v, device)
}

func (in *interpreter) fromDisk(v value, device string) value {
	switch v := v.(type) {
	case *savedTensor:
		if device == "cpu" || device == "" && v.host {
			return &hostTensor{size: v.size, dtype: v.dtype}
		}
		return in.World.Empty(shadow.Dims(v.size...), v.dtype).Hold()
	case *dict:
		d := &dict{record: v.record}
		for i, k := range v.keys {
			d.set(k, in.fromDisk(v.vals[i], device))
		}
		return d
	case *list:
		l := &list{tuple: v.tuple}
		for _, x := range v.items {
			l.items = append(l.items, in.fromDisk(x, device))
		}
		return l
	}
	return v
}
