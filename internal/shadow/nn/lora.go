// SPDX-License-Identifier: Apache-2.0

package nn

import (
	"slices"
	"strings"

	"snug/internal/shadow"
)

// Lora configures which linear layers get low-rank adapters. Everything else is frozen. Each family's default
// targets are in family/facts.go.
type Lora struct {
	Rank        int                  // rank of the adapter matrices
	Dropout     float64              // dropout on the adapters' input
	Targets     map[string]bool      // the end of a module's path: c_proj, mlp.c_proj
	PEFT        bool                 // implement PEFT's behavior, with adapters in float32
	DoRA        bool                 // also train the lengths of the weights' rows
	AsBase      bool                 // PEFT's adapters keep the type of the weights they adapt
	Block       int                  // OFT's block size
	Feedforward map[string]bool      // IA3's targets whose inputs are scaled, not their outputs
	Save        []string             // layers that are trained in full: PEFT's modules_to_save
	Tuner       string               // one of PEFT's other methods, a key of tuners; "" for LoRA
	Matches     func(at string) bool // instead of Targets: PEFT's target_modules as a regular expression for whole paths
	Fresh       bool                 // in LitGPT's layers, padding makes a copy, as it did in 2023
}

// adapts reports whether a target names the module at a path. Like PEFT, it compares whole path components from
// the end.
func (l Lora) adapts(at string) bool {
	if l.Matches != nil {
		return l.Matches(at)
	}
	for i := len(at) - 1; i >= 0; i-- {
		if at[i] == '.' && l.Targets[at[i+1:]] {
			return true
		}
	}
	return l.Targets[at]
}

// adapter is the pair of small matrices added to a frozen Linear.
type adapter struct {
	of      *Linear
	a, b    *Linear
	lengths *shadow.Tensor // trained row lengths, for DoRA
	drop    float64
	peft    bool

	torchtune bool // torchtune's LoRALinear
	qkv       bool // LitGPT's LoRAQKVLinear
	fresh     bool // see Lora.Fresh
}

// AddLora freezes a model and adds adapters to the linear layers that l
// names, in the order of the model's modules. Adapters are made in float32 and moved to the GPU together; a
// 16-bit model is then cast as a whole, including the adapters and the buffers that were kept in float32.
//
// PEFT makes the adapters in the model's type instead, and finally casts only the adapters to float32
// (autocast_adapter_dtype, which is on by default).
func (b *Builder) AddLora(l Lora) {
	for _, p := range b.all {
		p.SetTrained(false)
	}
	layers, dtype := b.layers, b.DType
	if l.Tuner != "" {
		b.addTuner(layers, l)
		return
	}
	if !l.PEFT {
		b.DType = shadow.Float32
	}
	b.adapt(layers, l)
	b.DType = dtype
	b.save(layers, l)
	switch {
	case l.PEFT && l.AsBase:
	case l.PEFT:
		castAdapters(layers, shadow.Float32)
	case dtype.Half():
		castLora(layers, dtype)
	}
}

// adapt makes the adapters.
func (b *Builder) adapt(layers []any, l Lora) {
	for _, m := range layers {
		if lin, ok := m.(*Linear); ok && l.adapts(lin.At()) && !l.saves(lin.At()) && !within(lin.At(), b.frozen) {
			held := b.DType
			if lin.quant != nil { // the model's type cannot be read from a quantized weight
				b.DType = shadow.Float32
			}
			lin.lora = &adapter{
				of:   lin,
				a:    b.Linear(lin.At()+".A", lin.In, l.Rank, false),
				b:    b.Linear(lin.At()+".B", l.Rank, lin.Out, false),
				drop: l.Dropout,
				peft: l.PEFT,
			}
			if l.DoRA {
				lin.lora.lengths = b.magnitude(lin, lin.lora)
			}
			b.DType = held
			moveInside("base", lin.Weight)
			moveInside("base", lin.Bias)
		}
	}
}

// Adapted reports whether any layer has adapters.
func (b *Builder) Adapted() bool {
	return slices.ContainsFunc(b.layers, func(m any) bool {
		lin, ok := m.(*Linear)
		return ok && (lin.lora != nil || lin.tuner != nil)
	})
}

// LinearNames lists the possible targets: the last names of the linear layers, each once, in
// the order of the model's modules.
func (b *Builder) LinearNames() []string {
	var out []string
	for _, m := range b.layers {
		lin, ok := m.(*Linear)
		if !ok {
			continue
		}
		names := lin.parts
		if names == nil {
			names = []string{lastName(lin.At())}
		}
		for _, name := range names {
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// AllLinear adds the targets that PEFT's all-linear means: every linear layer except the output.
func (b *Builder) AllLinear(targets map[string]bool) {
	for _, name := range b.LinearNames() {
		targets[name] = name != b.Output
	}
}

// moveInside renames a parameter of a layer that has become a submodule next to its adapters.
func moveInside(module string, p *shadow.Tensor) {
	if p != nil {
		own := lastName(p.Name())
		p.Rename(strings.TrimSuffix(p.Name(), own) + module + "." + own)
	}
}

// castLora is model.to(dtype) for tensors that do not have that type yet.
func castLora(layers []any, dt shadow.DType) {
	for _, m := range layers {
		switch m := m.(type) {
		case *Linear:
			m.lora.cast(dt)
		case *shadow.Tensor:
			m.CastInPlace(dt)
		}
	}
}

// castAdapters is PEFT's cast_adapter_dtype.
func castAdapters(layers []any, dt shadow.DType) {
	for _, m := range layers {
		if lin, ok := m.(*Linear); ok {
			lin.lora.cast(dt)
		}
	}
}

func (ad *adapter) cast(dt shadow.DType) {
	if ad != nil {
		ad.a.Weight.CastInPlace(dt)
		ad.b.Weight.CastInPlace(dt)
		if ad.lengths != nil {
			ad.lengths.CastInPlace(dt)
		}
	}
}

// EnableInputRequireGrads makes the output of the input embedding a leaf that requires a gradient, so that
// gradients flow through checkpointed layers with frozen weights.
//
// A model inside the model, such as a vision tower, has input embeddings of its own, whose output requires a gradient
// too (transformers 5.17, modeling_utils.py). TowerInput is called for it.
func (b *Builder) EnableInputRequireGrads() {
	b.inputGrads = true
	if b.inputs != nil {
		b.inputs.grads = true
	}
}

// TowerInput is the hook on the output of a vision tower's input embeddings.
func (b *Builder) TowerInput(out *shadow.Tensor) *shadow.Tensor {
	if b.inputGrads && !out.RequiresGrad() && out.World().GradEnabled() {
		out.SetTrained(true)
	}
	return out
}

// Inputs declares an embedding to be the one that get_input_embeddings returns.
func (b *Builder) Inputs(e *Embedding) { b.inputs = e }

// Freeze stops training the parameters whose path lies inside one of the modules. Their layers get no adapters.
func (b *Builder) Freeze(modules []string) {
	for _, p := range b.all {
		if within(p.Name(), modules) {
			p.SetTrained(false)
		}
	}
	b.frozen = append(b.frozen, modules...)
}

// within reports whether a path lies inside one of the modules.
func within(path string, modules []string) bool {
	return slices.ContainsFunc(modules, func(m string) bool { return shadow.Within(path, m) })
}

// NoisyInputs adds noise to the output of the input embedding, or stops doing so: transformers' hook for
// NEFTune (integrations/neftune.py, 5.17), which is registered after EnableInputRequireGrads' hook.
func (b *Builder) NoisyInputs(on bool) {
	if b.inputs != nil {
		b.inputs.noise = on
	}
}

func lastName(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '.' {
			return path[i+1:]
		}
	}
	return path
}

// forward is base(x) + B(A(drop(x))) * scale.
func (ad *adapter) forward(fn *shadow.Frame, x, base *shadow.Tensor) *shadow.Tensor {
	if ad.qkv {
		return ad.forwardQKV(fn, x, base)
	}
	if ad.torchtune {
		return ad.forwardTorchtune(fn, x, base)
	}
	if ad.peft || ad.lengths != nil {
		return ad.forwardPEFT(fn, x, base)
	}
	return base.AddOf(func() *shadow.Tensor { return ad.delta(x) })
}

// forwardPEFT is Linear.forward in peft/tuners/lora/layer.py, the same from 0.18 to 0.21: the input is cast to
// the adapters' type, and the result is cast back to the layer's. Under autocast a 16-bit input therefore becomes
// float32 and is then cast back to 16 bits, which makes a second copy that is also kept.
func (ad *adapter) forwardPEFT(fn *shadow.Frame, x, result *shadow.Tensor) *shadow.Tensor {
	fn.Let(result)
	dtype := result.DType()
	fn.Set(&x, x.To(ad.a.Weight.DType()))
	if ad.lengths != nil {
		fn.Set(&result, ad.dora(x, result))
	} else {
		fn.Set(&result, result.Add(ad.delta(x)))
	}
	fn.Set(&result, result.To(dtype))
	return result
}

// delta is B(A(drop(x))) * scale.
func (ad *adapter) delta(x *shadow.Tensor) *shadow.Tensor {
	return ad.b.Call(ad.a.Call(x.Dropout(ad.drop))).MulScalar()
}
