// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Quantization describes quantized frozen weights, with PEFT adapters: QLoRA if bitsandbytes quantizes them. The fields
// are those of transformers' BitsAndBytesConfig and GPTQConfig, with the same defaults.
type Quantization struct {
	Bits    int    `json:"bits"`                 // bits per weight: 4 or 8; 2 and 3 too with GPTQ; 4 with AWQ
	Method  string `json:"method,omitempty"`     // one of QuantMethods; "" means bitsandbytes
	Group   int    `json:"group_size,omitempty"` // GPTQ and AWQ: inputs that share a scale; -1 means all of them
	Kernel  string `json:"kernel,omitempty"`     // GPTQ: one of GPTQKernels; "" means GPTQModel's
	Type    string `json:"type,omitempty"`       // the 4-bit type: one of QuantTypes
	Double  bool   `json:"double,omitempty"`     // the scales are quantized too
	Compute string `json:"compute,omitempty"`    // the type in which products are computed
	Prepare bool   `json:"prepare,omitempty"`    // PEFT's prepare_model_for_kbit_training: unquantized weights become float32

	CastBack bool   `json:"cast_back,omitempty"` // after Prepare, norms, embeddings and head are cast back, as in Axolotl
	Adapters string `json:"adapters,omitempty"`  // the type that adapters are cast to, as in TRL; "" means float32

	Saved           bool `json:"-"` // the model's files contain quantized weights
	KeepsEmbeddings bool `json:"-"` // embeddings and head stay as they are when adapters are cast, as in TRL 1.16
}

// The simulated widths of quantized weights. 8-bit weights (LLM.int8) have no Type and no Compute.
const (
	fourBits  = 4
	EightBits = 8 // LLM.int8
)

// oldestEightBits is the oldest bitsandbytes whose products with 8-bit weights are simulated.
const oldestEightBits = "0.46"

// CastsEmbeddings reports whether embeddings and head are cast to bf16 after all unquantized weights were cast to
// float32. bf16 adapters on a model prepared like this mean an older TRL, whose peft_module_casting_to_bf16 does this.
func (q *Quantization) CastsEmbeddings() bool {
	return q.Prepare && !q.CastBack && q.Adapters == BF16 && !q.KeepsEmbeddings
}

// checkQuantization records an error for settings that are not simulated.
func (o *object) checkQuantization(s *Setup) {
	q := s.Quantization
	if q.Packed() && q.Method != BitsAndBytes {
		o.checkPacked(q)
		return
	}
	o.checkUngrouped()
	switch {
	case q.CastBack && !q.Prepare:
		o.fail("cast_back", " needs {quantization.prepare}, which casts to float32; set both, or neither")
	case q.Bits == EightBits:
		o.checkEightBits(q)
	case q.Bits != fourBits:
		o.fail("bits", ": %d-bit weights are not simulated; choose {quantization.bits=4} or {quantization.bits=8}, or measure the run: snug profile -- <your command>", q.Bits)
	}
}

// checkEightBits records an error for settings of 4-bit weights, and removes their defaults.
func (o *object) checkEightBits(q *Quantization) {
	for _, key := range []string{"type", "double", "compute"} {
		if v := o.keys[key]; v != nil && v != false {
			o.fail(key, " is for 4-bit weights and has no effect on 8-bit ones; remove it")
		}
	}
	q.Type, q.Compute = "", ""
}

// tidy replaces equivalent values with a single form.
func (q *Quantization) tidy() {
	if q == nil {
		return
	}
	for field, usual := range map[*string]string{&q.Adapters: FP32, &q.Method: BitsAndBytes, &q.Kernel: GPTQModel} {
		if *field == usual {
			*field = ""
		}
	}
}

// savedQuantization reads the quantization from the config of a model that was saved quantized. It overrides the
// setup.
func (s *Setup) savedQuantization() error {
	q, _ := s.Model.Config["quantization_config"].(map[string]any)
	if q == nil {
		return nil
	}
	four := q["load_in_4bit"] == true || q["_load_in_4bit"] == true
	eight := q["load_in_8bit"] == true || q["_load_in_8bit"] == true
	method, _ := q["quant_method"].(string)
	if method == GPTQ || method == AWQ {
		return s.savedPacked(method, q)
	}
	if method != "" && method != "bitsandbytes" || !four && !eight || q["llm_int8_has_fp16_weight"] == true {
		return unknownModel("the weights of %s are quantized (quantization_config: %s) in a way that is not simulated; measure the run: snug profile -- <your command>",
			s.Model.Title(), cmp.Or(method, "no quant_method"))
	}
	if s.Quantization == nil {
		s.Quantization = &Quantization{}
	}
	p := s.Quantization
	p.Saved = true
	if eight {
		p.Bits, p.Type, p.Compute, p.Double = EightBits, "", "", false
		return nil
	}
	p.Bits, p.Type, p.Compute = fourBits, FP4, FP32
	p.Double, _ = q["bnb_4bit_use_double_quant"].(bool)
	if t, _ := q["bnb_4bit_quant_type"].(string); slices.Contains(QuantTypes, t) {
		p.Type = t
	}
	if t, _ := q["bnb_4bit_compute_dtype"].(string); weightTypes[t] != "" {
		p.Compute = weightTypes[t]
	}
	return nil
}

// savedPacked is savedQuantization for weights quantized by GPTQ or AWQ.
func (s *Setup) savedPacked(method string, config map[string]any) error {
	if format, _ := config["version"].(string); method == AWQ && format != "" && !strings.EqualFold(format, "gemm") {
		return unknownModel("the weights of %s are quantized by AWQ (quantization_config: version %s) in a way that is not simulated; measure the run: snug profile -- <your command>", s.Model.Title(), format)
	}
	if s.Quantization == nil {
		s.Quantization = &Quantization{}
	}
	if config["lm_head"] == true || config["dynamic"] != nil {
		return unknownModel("the weights of %s are quantized by GPTQ (quantization_config: lm_head or dynamic) in a way that is not simulated; measure the run: snug profile -- <your command>", s.Model.Title())
	}
	s.Quantization.Saved = true
	s.Quantization.readPacked(method, config)
	return nil
}

// completeQuantization returns an error for settings that do not work with quantized weights, or are not
// supported.
func (s *Setup) completeQuantization() error {
	if err := s.savedQuantization(); err != nil {
		return err
	}
	l := s.LoRA
	switch {
	case s.Quantization == nil:
		return nil
	case l == nil:
		return Wrong("{quantization.bits}: quantized weights cannot be trained; train PEFT adapters instead, with {lora.rank} and {lora.peft}")
	case !l.PEFT:
		return Wrong("{quantization.bits}: adapters for quantized weights must be from PEFT; set {lora.peft}")
	case l.DoRA:
		return Wrong("{quantization.bits}, with {lora.dora}: DoRA over quantized weights is not simulated; remove one of them, or measure the run: snug profile -- <your command>")
	case s.Quantization.Adapters != "" && s.Precision == AmpFP16:
		return Wrong("{quantization.adapters} is %s and {precision} amp-fp16: PyTorch's GradScaler cannot unscale 16-bit gradients; choose {precision=amp-bf16}, or {quantization.adapters=fp32}", s.Quantization.Adapters)
	case !s.quantizesSpread():
		return Wrong("{quantization.bits}, with {dist.kind} %s: quantized weights are simulated on one GPU and under ddp and fsdp1; choose {dist.kind=fsdp1}, or measure the run: snug profile -- <your command>", s.Dist.Kind)
	case s.Dist.FSDP() && s.Quantization.Prepare:
		return Wrong("{quantization.prepare}, with {dist.kind} %s: FSDP refuses blocks that mix float32 with other types; remove it", s.Dist.Kind)
	case s.Dist.FSDP() && s.Quantization.Saved && !s.Quantization.Packed():
		return Wrong("{dist.kind} %s: %s was saved with quantized weights, which is simulated on one GPU and under ddp; give the unquantized model, which is quantized while it is loaded", s.Dist.Kind, s.Model.Title())
	case s.Dist.FSDP() && s.Dist.Load == LoadWhole:
		return Wrong("{dist.load} is whole, but transformers never loads all quantized weights onto a GPU under {dist.kind} %s; remove it", s.Dist.Kind)
	case !s.Model.facts().Quantizes:
		return Wrong("{quantization.bits}: it is not known which layers of %s are quantized; remove it, or measure the run: snug profile -- <your command>", s.Model.Title())
	}
	switch {
	case s.Quantization.ByGPTQ():
		return s.completeGPTQ()
	case s.Quantization.Packed():
		return s.completeAWQ()
	}
	return s.completeEightBits()
}

// completeEightBits returns an error for settings that do not work with 8-bit weights.
func (s *Setup) completeEightBits() error {
	of := s.Versions.BitsAndBytes
	switch {
	case s.Quantization.Bits != EightBits:
	case s.Dist != nil && s.DistKind() != DDP:
		return Wrong("{quantization.bits} 8, with {dist.kind} %s: 8-bit weights are simulated on one GPU and under ddp; choose {dist.kind=ddp}, or measure the run: snug profile -- <your command>", s.Dist.Kind)
	case of != "" && release(of) < release(oldestEightBits):
		return Wrong("{versions.bitsandbytes} %s: 8-bit weights are simulated for %s and later; remove it, or measure the run: snug profile -- <your command>", of, oldestEightBits)
	}
	return nil
}

// quantizedEvidence groups measured runs by the width of quantized weights.
func (s *Setup) quantizedEvidence() []string {
	if s.Quantization == nil {
		return nil
	}
	if s.Quantization.Packed() {
		return []string{"weights quantized by " + strings.ToUpper(s.Quantization.Method)}
	}
	return []string{fmt.Sprintf("%d-bit weights", s.Quantization.Bits)}
}

// quantizesSpread reports whether quantized weights are simulated for the way the run is spread over GPUs.
func (s *Setup) quantizesSpread() bool {
	return s.Dist == nil || s.DistKind() == DDP || s.DistKind() == FSDP1
}

// CanQuantize reports whether the frozen weights of a run could be quantized.
func (s *Setup) CanQuantize() bool {
	return s.Quantization == nil && s.LoRA != nil && s.LoRA.PEFT && !s.LoRA.DoRA && s.quantizesSpread() &&
		s.Model.Program == nil && s.Model.facts().Quantizes
}

// UsualQuantization returns the quantization of the QLoRA paper (nf4, double quantization), computed in the type of
// the arithmetic.
func (s *Setup) UsualQuantization() *Quantization {
	p := &Quantization{Bits: fourBits, Type: NF4, Double: true, Compute: FP32}
	if half := strings.TrimPrefix(s.Precision, "amp-"); slices.Contains(ComputeTypes, half) {
		p.Compute = half
	}
	return p
}

// QuantizationUnder returns the quantization in another precision. If products are computed in the type of the
// arithmetic, that type changes too, as in trainers.
func (s *Setup) QuantizationUnder(precision string) *Quantization {
	was, now := strings.TrimPrefix(s.Precision, "amp-"), strings.TrimPrefix(precision, "amp-")
	if s.Quantization == nil || s.Quantization.Saved || s.Quantization.Compute != was || !slices.Contains(ComputeTypes, now) {
		return s.Quantization
	}
	p := *s.Quantization
	p.Compute = now
	return &p
}

// String describes the quantization for users.
func (p *Quantization) String() string {
	switch {
	case p.Packed() && p.Group == whole:
		return fmt.Sprintf("%d-bit weights (%s)", p.Bits, strings.ToUpper(p.Method))
	case p.Packed():
		return fmt.Sprintf("%d-bit weights (%s, groups of %d)", p.Bits, strings.ToUpper(p.Method), p.Group)
	case p.Bits == EightBits:
		return "8-bit weights"
	}
	how := p.Type
	if p.Double {
		how += ", double quantization"
	}
	return fmt.Sprintf("%d-bit weights (%s)", p.Bits, how)
}
