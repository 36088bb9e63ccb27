// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Packed is frozen weights that bitsandbytes packs into fewer bits, with adapters of
// PEFT beside them: QLoRA. The fields are those of transformers' BitsAndBytesConfig,
// with its defaults.
type Packed struct {
	Bits    int    `json:"bits"`
	Type    string `json:"type,omitempty"`    // which numbers the bits stand for
	Double  bool   `json:"double,omitempty"`  // the scales are packed too
	Compute string `json:"compute,omitempty"` // the type that products are computed in
	Raised  bool   `json:"raised,omitempty"`  // PEFT's prepare_model_for_kbit_training: what is not packed becomes float32

	Lowered  bool   `json:"lowered,omitempty"`  // norms, embeddings and head are cast back after that, as Axolotl does
	Adapters string `json:"adapters,omitempty"` // the type that adapters are cast to, as TRL does; "" is float32

	Saved bool `json:"-"` // the model's files hold its weights packed
}

// The words of packed weights.
var (
	PackedTypes  = []string{"nf4", "fp4"}
	ComputeTypes = []string{"bf16", "fp16", "fp32"}
)

// packedBits is how many bits weights can be packed into, as far as is simulated.
const packedBits = 4

func (o *object) packed(s *Setup) {
	p := o.inner("packed")
	if p == nil {
		return
	}
	s.Packed = &Packed{
		Bits: p.whole("bits", packedBits, 1, 16), Type: p.choice("type", "fp4", PackedTypes), Double: p.flag("double", false),
		Compute: p.choice("compute", "fp32", ComputeTypes), Raised: p.flag("raised", false),
		Lowered: p.flag("lowered", false), Adapters: p.choice("adapters", "", ComputeTypes),
	}
	if s.Packed.Adapters == "fp32" {
		s.Packed.Adapters = ""
	}
	switch {
	case p.keys["bits"] == nil:
		p.fail("bits", " is missing; 4 is what can be simulated")
	case s.Packed.Lowered && !s.Packed.Raised:
		p.fail("lowered", " casts back what was raised, and packed.raised is not on; set both, or neither")
	case s.Packed.Bits != packedBits:
		p.fail("bits", " is %d; only 4 can be simulated: choose 4, or measure the run: snug profile -- <your command>", s.Packed.Bits)
	}
	o.adopt(p)
}

// checkBitsAndBytes wants a release whose code was read.
func (o *object) checkBitsAndBytes(text string) {
	var major, minor int
	if n, _ := fmt.Sscanf(text, "%d.%d", &major, &minor); text != "" && (n != 2 || major != 0 || minor < 43) {
		o.fail("bitsandbytes", " %q is not a known version; write it like 0.50 (known from 0.43 on)", text)
	}
}

// savedPacked is what the config of a model says whose files hold packed weights. It
// has the last word on how they are packed.
func (s *Setup) savedPacked() error {
	q, _ := s.Model.Config["quantization_config"].(map[string]any)
	if q == nil {
		return nil
	}
	four := q["load_in_4bit"] == true || q["_load_in_4bit"] == true
	method, _ := q["quant_method"].(string)
	if method != "" && method != "bitsandbytes" || !four {
		return unknownModel("the config of %s says that its weights are packed (quantization_config, %s), in a way that is not simulated; measure the run: snug profile -- <your command>",
			s.Model.Title(), cmp.Or(method, "no quant_method"))
	}
	if s.Packed == nil {
		s.Packed = &Packed{}
	}
	p := s.Packed
	p.Bits, p.Type, p.Compute, p.Saved = packedBits, "fp4", "fp32", true
	p.Double, _ = q["bnb_4bit_use_double_quant"].(bool)
	if t, _ := q["bnb_4bit_quant_type"].(string); slices.Contains(PackedTypes, t) {
		p.Type = t
	}
	if t, _ := q["bnb_4bit_compute_dtype"].(string); weightTypes[t] != "" {
		p.Compute = weightTypes[t]
	}
	return nil
}

// completePacked refuses what cannot be trained with packed weights, or is not known.
func (s *Setup) completePacked() error {
	if err := s.savedPacked(); err != nil {
		return err
	}
	l := s.LoRA
	switch {
	case s.Packed == nil:
		return nil
	case l == nil:
		return Wrong("{packed.bits} is 4: packed weights cannot be trained; train PEFT's adapters beside them, with {lora.rank} and {lora.peft}")
	case !l.PEFT:
		return Wrong("{packed.bits} is 4: adapters beside packed weights are PEFT's; set {lora.peft}")
	case l.DoRA:
		return Wrong("{packed.bits} is 4, with {lora.dora}: DoRA over packed weights is not simulated; leave one of them out, or measure the run: snug profile -- <your command>")
	case s.Packed.Adapters != "" && s.Precision == "amp-fp16":
		return Wrong("{packed.adapters} is %s and {precision} amp-fp16: PyTorch's GradScaler cannot unscale gradients of 16 bits; choose {precision=amp-bf16}, or {packed.adapters=fp32}", s.Packed.Adapters)
	case s.Dist != nil && s.Dist.Kind != "ddp":
		return Wrong("{packed.bits} is 4, with {dist.kind} %s: packed weights are simulated on one GPU or under ddp; choose {dist.kind=ddp}, or measure the run: snug profile -- <your command>", s.Dist.Kind)
	case !s.Model.facts().Quantizes:
		return Wrong("{packed.bits} is 4: which layers of %s are packed is not known; leave it out, or measure the run: snug profile -- <your command>", s.Model.Title())
	}
	return nil
}

// CanPack tells whether the weights that a run freezes could be packed.
func (s *Setup) CanPack() bool {
	return s.Packed == nil && s.LoRA != nil && s.LoRA.PEFT && !s.LoRA.DoRA && (s.Dist == nil || s.Dist.Kind == "ddp") &&
		s.Model.Program == nil && s.Model.facts().Quantizes
}

// PackedInto4 is the usual way to pack: that of the paper (nf4, scales packed too),
// computed in the type of the arithmetic.
func (s *Setup) PackedInto4() *Packed {
	p := &Packed{Bits: packedBits, Type: "nf4", Double: true, Compute: "fp32"}
	if half := strings.TrimPrefix(s.Precision, "amp-"); slices.Contains(ComputeTypes, half) {
		p.Compute = half
	}
	return p
}

// PackedUnder is how weights would be packed if the precision were another: what is
// computed in the type of the arithmetic goes with it, as trainers have it.
func (s *Setup) PackedUnder(precision string) *Packed {
	was, now := strings.TrimPrefix(s.Precision, "amp-"), strings.TrimPrefix(precision, "amp-")
	if s.Packed == nil || s.Packed.Saved || s.Packed.Compute != was || !slices.Contains(ComputeTypes, now) {
		return s.Packed
	}
	p := *s.Packed
	p.Compute = now
	return &p
}

// String is how weights are packed, in words.
func (p *Packed) String() string {
	how := p.Type
	if p.Double {
		how += ", double"
	}
	return fmt.Sprintf("%d bits (%s)", p.Bits, how)
}
