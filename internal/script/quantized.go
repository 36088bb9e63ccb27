// SPDX-License-Identifier: Apache-2.0

package script

import "snug/internal/shadow"

// Quantized is a BitsAndBytesConfig with 4-bit or 8-bit weights, a GPTQConfig or an AwqConfig.
type Quantized struct {
	Packed  *Packed      // for a GPTQConfig or AwqConfig; Eight, Double and Compute do not apply
	Eight   bool         // 8-bit weights, to which Double and Compute do not apply
	Double  bool         // the scales are quantized too (double quantization)
	Compute shadow.DType // dtype that products are computed in
	Prepare bool         // prepare_model_for_kbit_training was called
}

// Packed is a GPTQConfig or an AwqConfig.
type Packed struct {
	AWQ   bool // an AwqConfig
	Bits  int  // bits per weight
	Group int  // inputs that share a scale; -1 means all of them
}

func registerQuantization() {
	natives["transformers.GPTQConfig"] = newGPTQ
	natives["transformers.AwqConfig"] = newAWQ
	natives["transformers.BitsAndBytesConfig"] = newQuantization
	natives["snug.halve_trained"] = halveTrained
	natives["peft.prepare_model_for_kbit_training"] = prepareForTraining
	natives["peft.prepare_model_for_int8_training"] = prepareForTraining // its name before PEFT 0.10
}

// quantConfig is a BitsAndBytesConfig; of is nil unless it quantizes weights.
type quantConfig struct{ of *Quantized }

func newQuantization(in *interpreter, a arguments) value {
	c := &quantConfig{}
	if on, _ := a.or(-1, "load_in_8bit", false).(bool); on {
		c.of = &Quantized{Eight: true}
		if on, _ := a.or(-1, "llm_int8_has_fp16_weight", false).(bool); on {
			in.note("llm_int8_has_fp16_weight keeps 16-bit weights, which are counted as 8-bit ones; the run needs more memory than shown")
		}
		return c
	}
	if on, _ := a.or(-1, "load_in_4bit", false).(bool); !on {
		return c
	}
	c.of = &Quantized{Compute: shadow.Float32}
	c.of.Double, _ = a.or(-1, "bnb_4bit_use_double_quant", false).(bool)
	switch t := a.or(-1, "bnb_4bit_compute_dtype", nil).(type) {
	case dtypeValue:
		c.of.Compute = shadow.DType(t)
	case string:
		if dt, ok := constants["torch."+t].(dtypeValue); ok {
			c.of.Compute = shadow.DType(dt)
		}
	}
	return c
}

// newGPTQ is transformers' GPTQConfig. With a dataset, from_pretrained quantizes the weights itself.
func newGPTQ(in *interpreter, a arguments) value {
	c := packed(a, 3)
	if a.or(2, "dataset", nil) != nil {
		in.note("GPTQConfig has a dataset; if the weights are not quantized yet, from_pretrained quantizes them, and the memory for that is not counted")
	}
	return &quantConfig{of: &Quantized{Packed: c}}
}

// newAWQ is transformers' AwqConfig.
func newAWQ(_ *interpreter, a arguments) value {
	c := packed(a, 1)
	c.AWQ = true
	return &quantConfig{of: &Quantized{Packed: c}}
}

// packed reads the arguments that both have: the bits, and the size of a group at a position.
func packed(a arguments, group int) *Packed {
	c := &Packed{Bits: 4, Group: 128}
	if n, ok := a.or(0, "bits", nil).(int); ok {
		c.Bits = n
	}
	if n, ok := a.or(group, "group_size", nil).(int); ok {
		c.Group = n
	}
	return c
}

// quantization returns how from_pretrained quantizes the weights it loads, or nil if it does not.
func quantization(in *interpreter, a arguments) *Quantized {
	c, ok := a.or(-1, "quantization_config", nil).(*quantConfig)
	if !ok {
		c = newQuantization(in, a).(*quantConfig)
	}
	if c.of == nil {
		return nil
	}
	own := *c.of
	return &own
}

// prepareForTraining is PEFT's prepare_model_for_kbit_training (0.19, utils/other.py): it casts weights that are
// not quantized to float32, and checkpoints blocks unless that is disabled. It passes no default for use_reentrant, so
// PyTorch's default applies, which is reentrant.
func prepareForTraining(in *interpreter, a arguments) value {
	n, ok := a.or(0, "model", nil).(*network)
	if !ok {
		return hold(a.or(0, "model", nil))
	}
	q := n.loading.Quantized
	if q == nil || n.net != nil {
		in.note("prepare_model_for_kbit_training is not followed for a model that is not quantized or is already on the card")
		return hold(n)
	}
	q.Prepare = true
	if on, ok := a.or(1, "use_gradient_checkpointing", true).(bool); !ok || on {
		n.checkpoint(in, arguments{names: []string{"gradient_checkpointing_kwargs"}, named: []value{a.or(2, "gradient_checkpointing_kwargs", nil)}})
		if n.mode.Reentrant == nil {
			n.mode.Reentrant = new(true)
		}
	}
	return hold(n)
}

// halveTrained casts the trained parameters of a quantized model to bfloat16, as TRL's trainers do. Other models stay as
// they are.
func halveTrained(_ *interpreter, a arguments) value {
	n, ok := a.or(0, "model", nil).(*network)
	switch {
	case !ok:
	case n.net != nil:
		n.net.CastTrained(shadow.BFloat16)
	default:
		n.loading.Halves = true
	}
	return nil
}
