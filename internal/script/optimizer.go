// SPDX-License-Identifier: Apache-2.0

package script

import (
	"slices"
	"strings"

	"snug/internal/shadow"
	"snug/internal/shadow/train"
)

// optimizerValue is an optimizer over some of the model's parameters.
type optimizerValue struct {
	refs
	opt    train.Optimizer
	params []*shadow.Tensor
	steps  []value // step counters of loaded states, if they were loaded onto the card

	scheduled bool // it has a learning rate scheduler
}

// release frees the states and drops the parameters when the last reference is dropped. With a learning rate
// scheduler the optimizer refers to itself, so only Python's garbage collector would free it.
func (o *optimizerValue) release() {
	if !o.last() || o.scheduled {
		return
	}
	train.Free(o.opt)
	for _, p := range o.params {
		p.Drop()
	}
	dropAll(o.steps)
}

// newOptimizer makes an optimizer from its class name.
func (in *interpreter) newOptimizer(path string, a arguments) value {
	_, class, _ := cutLast(path)
	in.optimizers++
	if o := in.foreachOptimizer(path, class, a); o != nil {
		return o
	}
	name := optimizerName(class, a)
	if strings.HasPrefix(path, "torchao.") {
		name = map[string]string{"AdamW8bit": "adamw-torchao-8bit", "Adam8bit": "adamw-torchao-8bit"}[class]
	}
	if name == "" {
		name = "adamw"
		if in.Optimizer == "" {
			in.note("the optimizer %s is not known; it is counted as AdamW%s", class, unlike(class))
		}
	}
	if in.Optimizer != "" && name != in.Optimizer {
		if !in.isNamed() {
			in.note("the script's optimizer is %s, but the setup's is counted: %s", class, in.Optimizer)
		}
		name = in.Optimizer
	}
	if on, ok := a.or(-1, "amsgrad", false).(bool); ok && on && name != "adam-amsgrad" {
		in.note("amsgrad's third state is not counted; it is as large as the gradients")
	}
	in.unmeasured(name)
	decay, _ := number(a.or(-1, "weight_decay", 0))
	if form(a) != "" {
		decay = 0 // neither the fused kernel nor the loop makes a list of sums for the decay
	}
	return in.optimizerWith(name, a.or(0, "params", nil), decay)
}

// unmeasured adds a note if an optimizer is simulated only from its source.
func (in *interpreter) unmeasured(name string) {
	switch name {
	case "adam-amsgrad", "adamax", "nadam", "radam":
		in.note("no run with %s has been measured; it is simulated from PyTorch's source", name)
	}
}

// unlike returns how the memory of an optimizer that is counted as AdamW differs from AdamW's.
func unlike(class string) string {
	switch strings.ToLower(class) {
	case "asgd":
		return ", which keeps one more state than ASGD"
	case "rprop":
		return ", but makes more temporary tensors"
	case "lbfgs":
		return ", but keeps up to two hundred copies of the gradients (history_size), so the run needs more memory than shown"
	case "sparseadam":
		return ", but uses sparse gradients, which need less memory"
	}
	return ""
}

// optimizerOver makes an optimizer over one or more parameter groups.
func (in *interpreter) optimizerOver(name string, params value) value {
	return in.optimizerWith(name, params, 0)
}

// optimizerWith is optimizerOver with a weight decay, which groups may set too.
func (in *interpreter) optimizerWith(name string, params value, decay float64) value {
	o := &optimizerValue{}
	var groups [][]*shadow.Tensor
	var decays []bool
	if l, ok := params.(*list); ok && len(l.items) > 0 {
		if _, grouped := l.items[0].(*dict); grouped {
			for _, g := range l.items {
				groups = append(groups, trainedOf(in.tensors(g)))
				decays = append(decays, decayOf(g, decay) != 0)
			}
		}
	}
	if groups == nil {
		groups, decays = [][]*shadow.Tensor{trainedOf(in.tensors(params))}, []bool{decay != 0}
	}
	for _, g := range groups {
		for _, p := range g {
			o.params = append(o.params, p.Hold())
		}
	}
	in.result.uses(name)
	opt, err := train.NewOptimizer(in.World, name, groups...)
	if err != nil {
		in.fail("%v", err)
	}
	if !strings.HasPrefix(name, "adamw") && in.Optimizer == "" { // AdamW decays in place; an optimizer from the setup has its default arguments
		train.Decay(opt, decays)
	}
	o.opt = opt
	return o
}

// decayOf returns the weight decay of a parameter group; otherwise is the default.
func decayOf(group value, otherwise float64) float64 {
	if d, ok := group.(*dict); ok {
		if v, there := d.get("weight_decay"); there {
			x, _ := number(v)
			return x
		}
	}
	return otherwise
}

// uses records the name of an optimizer, once.
func (r *Result) uses(name string) {
	if !slices.Contains(strings.Split(r.Optimizer, " and "), name) {
		r.Optimizer = strings.TrimPrefix(r.Optimizer+" and "+name, " and ")
	}
}

// trainedOf drops frozen parameters, which never have a gradient.
func trainedOf(ts []*shadow.Tensor) []*shadow.Tensor {
	var out []*shadow.Tensor
	for _, t := range ts {
		if t.RequiresGrad() {
			out = append(out, t)
		}
	}
	return out
}

// optimizerName returns the setup's name for an optimizer class, or "" if there is none.
func optimizerName(class string, a arguments) string {
	switch strings.ToLower(class) {
	case "adamw", "adam":
		if on, _ := a.or(-1, "amsgrad", false).(bool); on && form(a) == "" {
			return "adam-amsgrad"
		}
		return strings.ToLower(class) + form(a)
	case "adamax", "nadam", "radam":
		return strings.ToLower(class)
	case "sgd":
		if m, _ := number(a.or(2, "momentum", 0)); m != 0 {
			return "sgd-momentum"
		}
		return "sgd"
	case "rmsprop", "adagrad", "adafactor", "lion":
		return strings.ToLower(class)
	case "adamw8bit", "pagedadamw8bit", "adam8bit":
		return "adamw-8bit"
	case "lion8bit":
		return "lion-8bit"
	}
	return ""
}

// form returns the requested implementation of an optimizer: "-fused", "-loop", or "" for PyTorch's default.
func form(a arguments) string {
	fused, chosen := a.or(-1, "fused", nil).(bool)
	foreach, either := a.or(-1, "foreach", nil).(bool)
	switch {
	case fused:
		return "-fused"
	case !foreach && (chosen || either): // PyTorch uses its default only if neither argument is given
		return "-loop"
	}
	return ""
}

func (o *optimizerValue) attr(_ *interpreter, name string) (value, bool) {
	switch name {
	case "param_groups":
		group := &dict{open: true}
		group.set("params", o.parameters())
		return &list{items: []value{group}}, true
	case "state", "defaults":
		return unknown{}, true
	}
	return nil, false
}

func (o *optimizerValue) call(in *interpreter, name string, a arguments) value {
	switch name {
	case "step":
		return o.step(in, a.or(0, "closure", nil))
	case "zero_grad":
		if to, ok := a.or(0, "set_to_none", true).(bool); !ok || to {
			zeroGrads(o.params)
		}
	case "state_dict":
		return o.state()
	case "load_state_dict":
		o.load(in, a.or(0, "state_dict", nil))
	case "train", "eval":
	}
	return nil
}

// step implements optimizer.step(closure) and returns the closure's loss.
func (o *optimizerValue) step(in *interpreter, closure value) value {
	var loss value
	if closure != nil {
		was := in.World.GradEnabled()
		in.World.SetGrad(true)
		loss = in.invoke(closure, arguments{})
		in.World.SetGrad(was)
	}
	in.firstUpdate(o)
	in.updated(func() { o.opt.Step() })
	return loss
}

// firstUpdate records the parameters of the first update.
func (in *interpreter) firstUpdate(o *optimizerValue) {
	if in.result.Updates > 0 {
		return
	}
	in.result.Trained = append(in.result.Trained, o.params...)
	for _, p := range o.params {
		if p.Grad() != nil {
			in.result.Graded++
		} else {
			in.result.Ungraded += p.Numel()
		}
	}
}

// updated runs an update of the parameters.
func (in *interpreter) updated(update func()) {
	in.mark(Update)
	defer in.World.As(shadow.Temporaries)()
	update()
	in.countUpdate()
	in.forwards()
}

// countUpdate counts an update, and the backward passes since the one before.
func (in *interpreter) countUpdate() {
	r := &in.result
	r.Updates++
	if n := r.Backwards - in.counted; n > 0 {
		if r.PerUpdate == nil {
			r.PerUpdate = map[int]int{}
		}
		r.PerUpdate[n]++
	}
	in.counted = r.Backwards
}

func zeroGrads(params []*shadow.Tensor) { train.ZeroGrad(params) }

// state implements optimizer.state_dict(). It returns the states themselves, not copies: for each parameter its step
// counter and its states, or nothing before its first update.
func (o *optimizerValue) state() value {
	d, rows := &dict{}, &list{}
	states, _ := train.States(o.opt)
	for _, of := range states {
		row := &list{}
		if len(of) > 0 {
			row.items = append(row.items, &hostTensor{size: []int{}, dtype: shadow.Float32}) // the step counter
		}
		for _, t := range of {
			row.items = append(row.items, t.Hold())
		}
		rows.items = append(rows.items, row)
	}
	d.set("state", rows)
	return d
}

// load implements optimizer.load_state_dict(…). States on the card become the optimizer's own; others are copied
// there. The old ones are freed.
func (o *optimizerValue) load(in *interpreter, from value) {
	if _, known := train.States(o.opt); known {
		if states, ok := o.loaded(in, from); ok {
			train.Replace(o.opt, states)
			return
		}
	}
	in.note("the states that this optimizer loads are not known; it is assumed to allocate new ones at the first step")
}

// loaded returns the states in a value that state returned, which may have been saved and loaded since.
func (o *optimizerValue) loaded(in *interpreter, from value) (states [][]*shadow.Tensor, ok bool) {
	d, _ := from.(*dict)
	if d == nil {
		return nil, false
	}
	v, _ := d.get("state")
	rows, _ := v.(*list)
	if rows == nil {
		return nil, false
	}
	for _, r := range rows.items {
		row, _ := r.(*list)
		if row == nil {
			return nil, false
		}
		var ts []*shadow.Tensor
		for i, x := range row.items {
			if t, onCard := x.(*shadow.Tensor); onCard && i == 0 {
				o.steps = append(o.steps, t.Hold()) // the step counter stays where it was loaded
			} else if onCard {
				ts = append(ts, t.Hold())
			} else if t, ok := x.(*hostTensor); ok && i > 0 {
				ts = append(ts, in.World.Empty(shadow.Dims(t.size...), t.dtype).Hold())
			}
		}
		states = append(states, ts)
	}
	return states, true
}

// scalerValue is a GradScaler.
type scalerValue struct {
	scaler *train.GradScaler // nil if disabled
	steps  int
}

func newScaler(in *interpreter, a arguments) value {
	if on, ok := a.or(-1, "enabled", true).(bool); ok && !on {
		return &scalerValue{}
	}
	return &scalerValue{scaler: train.NewGradScaler(in.World)}
}

func (s *scalerValue) call(in *interpreter, name string, a arguments) value {
	opt := unwrapped(a.or(0, "optimizer", nil))
	switch name {
	case "scale":
		t, ok := a.or(0, "outputs", nil).(*shadow.Tensor)
		if !ok {
			return unknown{}
		}
		if s.scaler == nil {
			return t.Hold()
		}
		return s.scaler.Scale(t).Hold()
	case "unscale_":
		if s.scaler != nil && opt != nil {
			in.mark(Update)
			s.scaler.Unscale(opt.params)
		}
	case "step":
		if opt == nil {
			return nil
		}
		in.firstUpdate(opt)
		in.updated(func() { s.step(in, opt) })
	case "update":
		if s.scaler != nil {
			s.scaler.Update()
		}
	case "is_enabled":
		return s.scaler != nil
	}
	return unknown{}
}

func (s *scalerValue) step(in *interpreter, opt *optimizerValue) {
	if s.scaler == nil {
		opt.opt.Step()
		return
	}
	if s.steps++; s.steps <= in.Skips {
		s.scaler.Skip(opt.params)
		return
	}
	s.scaler.Step(opt.opt, opt.params)
}

// afterGrad implements parameter.register_post_accumulate_grad_hook(f): f is called whenever a backward pass has
// accumulated the gradient.
func afterGrad(in *interpreter, t *shadow.Tensor, a arguments) value {
	if in.hooks == nil {
		in.hooks = map[*shadow.Tensor]value{}
		in.World.OnGrad(func(leaf *shadow.Tensor) {
			if f, ok := in.hooks[leaf]; ok {
				drop(in.invoke(f, arguments{pos: []value{leaf.Hold()}}))
			}
		})
	}
	in.hooks[t] = hold(a.or(0, "hook", nil))
	return unknown{}
}
