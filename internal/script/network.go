// SPDX-License-Identifier: Apache-2.0

package script

import (
	"cmp"
	"slices"
	"strings"

	"snug/internal/family"
	"snug/internal/shadow"
)

// network is the model as the script sees it. It is moved to the card when the script moves it or first uses it.
type network struct {
	refs
	net      Net
	fields   []Field // tensors of its batches
	here     bool    // created on the card
	dtype    shadow.DType
	casted   shadow.DType // dtype that it was cast to before it was moved to the card
	mode     Mode
	copied   bool    // a copy, whose parameters stay where they are created
	loading  Loading // how it is built
	config   *configValue
	own      dict     // attributes set on it, such as a replaced forward
	away     bool     // it is on the host: not moved to the card yet, or moved back
	waits    bool     // it has never been on the card; it is moved there when needed
	bare     bool     // its forward returns only the logits
	known    []string // names of its parameters, once requested
	adapted  bool     // it is wrapped in PEFT's classes
	parts    map[string]*submodule
	replaced []*replacement // modules of the script that replace its own
}

// release frees the parameters when the last reference is dropped.
func (n *network) release() {
	if n.last() && n.net != nil {
		n.net.Free()
		for _, r := range n.replaced {
			drop(r.by)
		}
	}
}

// configure applies the configuration that a model is made from, with its changes.
func (n *network) configure(in *interpreter, a arguments, method string) {
	c, ok := a.or(-1, "config", nil).(*configValue)
	if !ok && method != "from_pretrained" {
		c, ok = a.or(0, "", nil).(*configValue)
	}
	n.config = newConfig(arguments{})
	if ok {
		n.config = c.copied()
	}
	if method == "from_pretrained" {
		n.config.change(a)
		n.config.own = in.another(a.or(0, "pretrained_model_name_or_path", nil))
	}
	n.loading.Own = n.config.own
	if cache, ok := n.config.changed["use_cache"].(bool); ok {
		n.mode.NoCache = !cache
	}
	n.loading.Config, n.loading.Attention = n.config.changed, n.config.attention
}

// there returns the model on the card.
func (n *network) there(in *interpreter) Net {
	if n.net == nil {
		n.net = in.build(Making{DType: n.dtype, Cast: n.casted, Here: n.here, Loading: n.loading})
	}
	if n.waits {
		n.net.ToCard()
		n.away, n.waits = false, false
	}
	if n.fields == nil {
		n.fields = n.net.Fields()
	}
	return n.net
}

// made returns the model wherever it is, on the host if the script has not moved it yet.
func (n *network) made(in *interpreter) Net {
	if n.net == nil && !n.here {
		n.net = in.build(Making{DType: n.dtype, Cast: n.casted, Waits: true, Loading: n.loading})
		n.away, n.waits = true, true
	}
	if n.net == nil {
		return n.there(in)
	}
	return n.net
}

func (n *network) attr(in *interpreter, name string) (value, bool) {
	if v, ok := n.own.get(name); ok {
		return hold(v), true
	}
	if r := n.replacement(name); r != nil {
		return hold(r.by), true
	}
	switch name {
	case "config":
		if n.config == nil {
			n.config = newConfig(arguments{})
		}
		n.config.of = n
		return hold(n.config), true
	case "device":
		return "cuda", true
	case "module", "_orig_mod":
		return hold(n), true
	case "model", "base_model":
		if base := n.base(in); base != "" && (name == base || name == "base_model") {
			return n.at(base), true
		}
		return hold(n), true
	case "training":
		return !n.mode.Eval, true
	case "is_gradient_checkpointing":
		return n.mode.Checkpointing, true
	case "_modules":
		return &modulesDict{hold(n)}, true
	case "dtype":
		return dtypeValue(cmp.Or(n.casted, n.dtype)), true
	}
	return n.part(in, name)
}

// set implements model.name = v.
func (n *network) set(in *interpreter, name string, v value) {
	if in.cutLayers(n, name, v) {
		return
	}
	if o, ok := v.(*instance); ok && n.replaces(in, name, o) {
		return
	}
	_, part := n.part(in, name)
	if o, ok := v.(*instance); ok && isModule(o) || part && name != "config" {
		in.note(notFollowed)
	}
	n.own.set(name, hold(v))
	if name == "use_cache" {
		if on, ok := v.(bool); ok {
			n.mode.NoCache = !on
		}
	}
}

// call calls a method of the model.
func (n *network) call(in *interpreter, name string, a arguments) value {
	switch name {
	case "to", "cuda", "half", "bfloat16", "float", "cpu":
		return n.move(in, name, a)
	case "train", "eval":
		on, ok := a.or(0, "mode", true).(bool)
		n.setMode(name == "eval" || ok && !on)
		return hold(n)
	case "forward":
		return in.forwardNetwork(n, a)
	case "__call__":
		return in.callNetwork(n, a)
	case "parameters":
		return &list{items: n.parameters(in)}
	case "named_parameters":
		return n.named(in)
	case "gradient_checkpointing_enable":
		n.checkpoint(in, a)
		return nil
	case "enable_input_require_grads":
		n.mode.InputGrads = true
		return nil
	case "gradient_checkpointing_disable":
		n.mode.Checkpointing, n.mode.Unchecked = false, true
		return nil
	case "requires_grad_":
		for _, p := range n.made(in).Parameters() {
			requiresGrad(in, p, a).(*shadow.Tensor).Drop()
		}
		return hold(n)
	case "zero_grad":
		zeroGrads(n.made(in).Parameters())
		return nil
	case "state_dict":
		return n.state(in)
	case "load_state_dict", "save_pretrained", "tie_weights", "print_trainable_parameters":
		return nil
	case "resize_token_embeddings":
		return n.resize(in, a)
	case "set_input_embeddings", "set_output_embeddings":
		in.note(notFollowed)
		return nil
	case "no_sync":
		return &contextValue{}
	case "modules", "named_modules", "children", "named_children", "get_input_embeddings", "get_output_embeddings", "get_submodule":
		return n.tree(in, name, a)
	case "num_parameters", "get_memory_footprint", "buffers", "named_buffers":
		return unknown{}
	case "generate":
		return n.generated(in, a)
	case "_shift_right", "prepare_decoder_input_ids_from_labels":
		return shiftedRight(a)
	case "compile":
		in.compiles()
		return nil
	case "apply":
		return hold(n)
	}
	return n.callAdapted(in, name, a)
}

// shiftedRight implements model._shift_right(labels) and shift_tokens_right(labels, …): the decoder's input for its labels.
func shiftedRight(a arguments) value {
	switch t := a.or(0, "labels", a.or(0, "input_ids", nil)).(type) {
	case *shadow.Tensor:
		return family.ShiftRight(t).Hold()
	case *hostTensor:
		return &hostTensor{size: t.size, dtype: t.dtype}
	}
	return unknown{}
}

// callAdapted calls a method of PEFT's classes around the model, or one that only some models have, or adds a note if it
// is unknown.
func (n *network) callAdapted(in *interpreter, name string, a arguments) value {
	switch name {
	case "disable_adapter":
		return &contextValue{bare: n}
	case "get_base_model":
		return hold(n)
	case "freeze_encoder": // WhisperForConditionalGeneration's
		for _, p := range n.made(in).Parameters() {
			if strings.Contains("."+p.Name(), ".encoder.") {
				p.SetTrained(false)
			}
		}
		return nil
	}
	in.noteTensors("model."+name, a)
	return unknown{}
}

// tree implements the methods that return the model's modules.
func (n *network) tree(in *interpreter, name string, a arguments) value {
	switch name {
	case "modules":
		return values(n.listed(in, "", n, false))
	case "named_modules":
		return pairs(n.listed(in, "", n, false))
	case "children":
		return values(n.listed(in, "", nil, true))
	case "named_children":
		return pairs(n.listed(in, "", nil, true))
	case "get_submodule":
		return n.submoduleAt(in, a)
	}
	return n.embeddings(in, name == "get_output_embeddings")
}

func (n *network) checkpoint(in *interpreter, a arguments) {
	n.mode.Checkpointing, n.mode.Unchecked, n.mode.InputGrads = true, false, !n.loading.Torchtune
	n.mode.Every, _ = a.or(1, "every_n_layers", 1).(int)
	if off, ok := a.or(2, "offload", false).(bool); ok && off {
		in.note("activations offloaded by gradient checkpointing are counted on the card; the run needs less memory than shown")
	}
	n.mode.Reentrant = nil
	if d, ok := a.or(0, "gradient_checkpointing_kwargs", nil).(*dict); ok {
		reentrant := true // PyTorch's default, if arguments are given at all
		if v, ok := d.get("use_reentrant"); ok {
			reentrant, _ = v.(bool)
		}
		n.mode.Reentrant = &reentrant
	}
}

// move implements model.to(…) and similar methods.
func (n *network) move(in *interpreter, name string, a arguments) value {
	device, dt := destination(a)
	if len(n.replaced) > 0 {
		n.refresh(in)
	}
	switch name {
	case "half":
		dt, device = shadow.Float16, ""
	case "bfloat16":
		dt, device = shadow.BFloat16, ""
	case "float":
		dt, device = shadow.Float32, ""
	case "cuda":
		device = "cuda"
	case "cpu":
		device = "cpu"
	}
	if dt != shadow.None {
		n.cast(in, dt)
	}
	switch {
	case device == "cpu" && n.net != nil && !n.away:
		n.net.ToHost()
		n.away = true
	case device == "cuda" && n.away:
		n.net.ToCard()
		n.away, n.waits = false, false
	case device == "cuda":
		n.there(in)
	}
	if wantsLast(a) {
		for _, p := range n.made(in).Parameters() {
			p.ToLastInPlace()
		}
	}
	if len(n.replaced) > 0 {
		if device == "cuda" {
			n.net.ToCard() // moves modules that were replaced since
		}
		n.moveReplaced(in, device, dt)
	}
	return hold(n)
}

// cast changes the dtype of the parameters, one by one if they are on the card.
func (n *network) cast(_ *interpreter, dt shadow.DType) {
	n.casted = dt
	if n.net != nil {
		n.net.Cast(dt)
	}
}

func (n *network) parameters(in *interpreter) []value {
	var out []value
	for _, p := range n.made(in).Parameters() {
		out = append(out, p.Hold())
	}
	return out
}

func (n *network) named(in *interpreter) value {
	out := &list{}
	for _, p := range n.made(in).Parameters() {
		out.items = append(out.items, tupleOf(p.Name(), p.Hold()))
	}
	return out
}

// state implements model.state_dict(): views of the parameters.
func (n *network) state(in *interpreter) value {
	d := &dict{}
	for _, p := range n.made(in).Parameters() {
		d.set(p.Name(), p.Detach().Hold())
	}
	return d
}

// callNetwork implements model(…): it calls the model's forward, or the function set in its place.
func (in *interpreter) callNetwork(n *network, a arguments) value {
	if f, ok := n.own.get("forward"); ok {
		return in.invoke(f, a.held())
	}
	return in.forwardNetwork(n, a)
}

// forwardNetwork runs the model's own forward.
func (in *interpreter) forwardNetwork(n *network, a arguments) value {
	return in.forwardIn(n, n.mode, a)
}

// forwardBase runs the forward of the model without its head.
func (in *interpreter) forwardBase(n *network, a arguments) value {
	mode := n.mode
	mode.Base = true
	return in.forwardIn(n, mode, a)
}

// forwardIn runs the model in a mode.
func (in *interpreter) forwardIn(n *network, mode Mode, a arguments) value {
	net := n.there(in)
	in.result.Called = true
	embeds, _ := a.or(-1, "inputs_embeds", nil).(*shadow.Tensor)
	if embeds != nil && embeds.Dim() == 3 {
		a = in.withIDs(embeds, a)
	} else {
		embeds = nil
	}
	b, made := in.modelBatch(n, a)
	if cache, ok := a.or(-1, "use_cache", nil).(bool); ok {
		mode.NoCache = !cache
	}
	mode.States = n.returnsStates(in, a)
	mode.SkipLogits, _ = a.or(-1, "skip_logits", false).(bool)
	mode.Chunks, _ = a.or(-1, "output_chunks", 0).(int)
	mode.Items, _ = a.or(-1, "num_items_in_batch", nil).(*shadow.Tensor)
	mode.Last = a.or(-1, "logits_to_keep", 0) == 1
	if cache, ok := a.or(-1, "past_key_values", nil).(*generationCache); ok {
		mode.Past, mode.Grow = cache.take()
	}
	in.forwards()
	z := in.zerosIn(a.or(1, "attention_mask", nil))
	mode.Padded = z != 0
	var out family.Outputs
	in.surrounded(n, embeds, func() { out = net.Call(b, mode) })
	in.noteMask(z, out.Masked)
	if mode.Base && out.Hidden == nil {
		in.note("the model without its head is not followed; it is counted with its head")
	}
	if mode.States && len(out.States) == 0 {
		in.note("the hidden states returned by this model are not followed; the figure may be too low")
	}
	for _, t := range made {
		t.Drop()
	}
	if whole, ok := a.or(-1, "return_dict", true).(bool); ok && !whole {
		return tupleOutput(out)
	}
	if out.Chunks != nil {
		return listOf(out.Chunks)
	}
	if n.bare && out.Logits != nil {
		return out.Logits
	}
	return record(out)
}

// modelBatch converts the arguments of a model's forward to a batch; made lists the tensors copied to the card
// for it.
func (in *interpreter) modelBatch(n *network, a arguments) (b family.Batch, made []*shadow.Tensor) {
	take := func(i int, name string) *shadow.Tensor {
		v, ok := a.get(i, name)
		if !ok || v == nil {
			return nil
		}
		switch t := v.(type) {
		case *shadow.Tensor:
			return t
		case *hostTensor:
			made = append(made, in.onto(t))
			return made[len(made)-1]
		}
		if h, ok := in.field(name, in.Batch).(*hostTensor); ok {
			in.note("the shape of %s is not known here; it is assumed to be the training batch's", name)
			made = append(made, in.onto(h))
			return made[len(made)-1]
		}
		return nil
	}
	b.IDs = take(0, "input_ids")
	b.Mask = take(1, "attention_mask")
	b.Positions = take(-1, "position_ids")
	b.DecoderIDs = take(-1, "decoder_input_ids")
	named := func(names []string) (found *shadow.Tensor) {
		for i := 0; i < len(names) && found == nil; i++ {
			found = take(-1, names[i])
		}
		return found
	}
	of := family.VisionInputNames()
	b.Kinds, b.Pixels = named(of[0]), take(-1, "pixel_values")
	b.Grid, b.Tiles = named(of[1]), named(of[2])
	b.Sound = named([]string{"input_features", "input_values"})
	b.Labels = take(-1, "labels")
	if b.Labels == nil {
		b.Labels, b.Ends = take(-1, "start_positions"), take(-1, "end_positions")
	}
	first, tokens := cmp.Or(b.IDs, b.Pixels, b.Sound), !n.takes("pixel_values") && !n.takes("input_features", "input_values")
	if first != nil && in.rows0 == 0 && in.World.GradEnabled() {
		in.rows0, in.rowsAt = first.Size(0), in.at
	}
	in.sawTargets(n, cmp.Or(b.Labels, b.DecoderIDs))
	in.trains(first, b.IDs != nil && tokens)
	if tokens && b.IDs == nil {
		if h, ok := in.field("input_ids", in.Batch).(*hostTensor); ok {
			in.note("the model's input is not known here; it is assumed to be the training batch's tokens")
			made = append(made, in.onto(h))
			b.IDs = made[len(made)-1]
		}
	}
	if n.takes("pixel_values") && b.Pixels == nil {
		b.Pixels, b.IDs = b.IDs, nil
	}
	if n.takes("input_features", "input_values") && b.Sound == nil {
		b.Sound, b.IDs = b.IDs, nil
	}
	return b, made
}

// sawTargets records in a survey that a model is trained, and the length of what a model of sound is trained to say.
func (in *interpreter) sawTargets(n *network, targets *shadow.Tensor) {
	if in.survey == nil || !in.World.GradEnabled() {
		return
	}
	in.survey.Code = false
	if targets != nil && targets.Dim() == 2 && n.takes("input_features", "input_values") {
		in.survey.sawLength(Sighting{N: targets.Size(1), Where: in.place()})
	}
}

// images reports whether the model's input is images.
func (in *interpreter) images() bool {
	return len(in.Fields) > 0 && in.Fields[0].Name == "pixel_values"
}

// takes reports whether the model's input has one of these names.
func (n *network) takes(names ...string) bool {
	return len(n.fields) > 0 && slices.Contains(names, n.fields[0].Name)
}

// record returns transformers' ModelOutput, which takes ownership of the tensors.
func record(out family.Outputs) value {
	d := &dict{record: true}
	if out.Loss != nil {
		d.set("loss", out.Loss)
	}
	switch {
	case out.Ends != nil:
		d.set("start_logits", out.Logits)
		d.set("end_logits", out.Ends)
	case out.Logits != nil:
		d.set("logits", out.Logits)
	}
	if out.Hidden != nil {
		d.set("last_hidden_state", out.Hidden)
	}
	if out.Pooled != nil {
		d.set("pooler_output", out.Pooled)
	}
	if len(out.Cache) > 0 {
		d.set("past_key_values", &list{opaque: true, items: takenOver(out.Cache)})
	}
	if out.Encoded != nil {
		d.set("encoder_last_hidden_state", out.Encoded)
	}
	if len(out.States) > 0 {
		d.set("hidden_states", tupleOf(takenOver(out.States)...))
	}
	return d
}

// takenOver returns tensors as values; their references pass to the values.
func takenOver(ts []*shadow.Tensor) (out []value) {
	for _, t := range ts {
		out = append(out, t)
	}
	return out
}

// returnsStates reports whether a call returns the hidden states of all layers, because of its argument or the
// configuration.
func (n *network) returnsStates(in *interpreter, a arguments) bool {
	v := a.or(-1, "output_hidden_states", nil)
	if v == nil && n.config != nil {
		v = n.config.changed["output_hidden_states"]
	}
	switch v := v.(type) {
	case bool:
		return v
	case *list:
		in.note("the hidden states of all layers are counted here, not only of some; the run may need less memory")
		return len(v.items) > 0
	}
	return false
}

func tupleOutput(out family.Outputs) value {
	d := record(out).(*dict)
	return tupleOf(d.vals...)
}

// modelClass reports whether a dotted name is a model class.
func modelClass(path string) bool {
	last := path[strings.LastIndexByte(path, '.')+1:]
	if !strings.HasPrefix(path, "transformers.") {
		return false
	}
	for _, skip := range []string{"Config", "Tokenizer", "Trainer", "Arguments", "Collator", "Processor", "Dataset"} {
		if strings.Contains(last, skip) {
			return false
		}
	}
	return strings.HasPrefix(last, "AutoModel") || strings.Contains(last, "For") || strings.HasSuffix(last, "Model") || strings.HasSuffix(last, "LMHead")
}

// build builds a model on the card. The first one determines the fields of batches, because a script may give it
// a different head from the setup's.
func (in *interpreter) build(m Making) Net {
	net, err := in.Build(m)
	if err != nil {
		panic(stopped{err})
	}
	if !in.built {
		in.Fields, in.built = net.Fields(), true
	}
	return net
}
