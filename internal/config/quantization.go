// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"slices"
	"strings"

	"snug/internal/setup"
)

// 4-bit weights of bitsandbytes. Files turn it on with one key, and
// what is left open their trainers have each their own way: which type products are
// computed in, whether what is not quantized is cast to float32, what adapters are cast
// to.

const (
	bnbConfig  = "transformers 5.17, utils/quantization_config.py: BitsAndBytesConfig"
	axolotlBnb = "axolotl 0.19, loaders/model.py: _set_quantization_config"
	swiftQuant = "ms-swift 4, arguments/base_args/quant_args.py"
	factoryBnb = "llamafactory 0.9.5, model/model_utils/quantization.py"
	fourBit    = "4 bits"
	eightBit   = "8 bits"

	otherLibrary = "another library"

	bnbType    = "fp4"  // BitsAndBytesConfig's own, which trainers that say nothing get
	bnbCompute = "fp32" // likewise
)

// quantBits is a number of bits.
func quantBits(path, source string) Key {
	return Key{Setting: "quantized", Path: path, Kind: Word, Words: []word{{"4", fourBit}, {"8", eightBit}, {"", ""}, {"none", ""}}, Means: "fewer bits", Source: source}
}

// quantMethod is the name of what quantizes, where that can be another than bitsandbytes.
func quantMethod(path, source string) Key {
	return Key{Setting: "quant_method", Path: path, Kind: Word, Words: []word{{"bnb", "bitsandbytes"}, {"bitsandbytes", "bitsandbytes"}}, Means: otherLibrary, Source: source}
}

// quantTypes is bnb_4bit_quant_type.
var quantTypes = []word{{"nf4", "nf4"}, {"fp4", "fp4"}}

// computeTypes is bnb_4bit_compute_dtype, and computeNames what programs of one's own
// may call the same.
var (
	computeTypes = []word{{"bfloat16", "bf16"}, {"float16", "fp16"}, {"float32", "fp32"}}
	computeNames = []word{{"torch.bfloat16", "bf16"}, {"torch.float16", "fp16"}, {"torch.float32", "fp32"}, {"bf16", "bf16"}, {"fp16", "fp16"}, {"fp32", "fp32"}}
)

// bnbKeys are the arguments of BitsAndBytesConfig.
func bnbKeys(prefix, source string) []Key {
	return at(prefix,
		Key{Setting: "quantization.type", Path: "bnb_4bit_quant_type", Kind: Word, Words: quantTypes, Source: source},
		Key{Setting: "quantization.double", Path: "bnb_4bit_use_double_quant", Kind: Switch, Source: source},
		Key{Setting: "quantization.compute", Path: "bnb_4bit_compute_dtype", Kind: Word, Words: computeTypes, Reads: computeNames, Source: source},
	)
}

// quantizing is the key that quantizes weights, nil where none does.
func (p *Project) quantizing() *bound {
	for _, b := range p.of("quantized") {
		if v, _ := b.Value.(string); v != "" {
			return &b
		}
	}
	return nil
}

// QuantizedAt is file:line of what quantizes weights, "" where nothing does.
func (p *Project) QuantizedAt() string {
	if b := p.quantizing(); b != nil && !p.says("quantization.bits") {
		return b.where()
	}
	return ""
}

// quantization says how weights are quantized, where they are.
func (p *Project) quantization(out map[string]any) {
	in, _ := out["quantization"].(map[string]any)
	b := p.quantizing()
	if p.says("quantization.bits") && in != nil {
		return // in a setup's own words
	}
	delete(out, "quantization")
	if b == nil || p.unquantizable(b) != "" || p.idles(b) {
		return
	}
	if in == nil {
		in = map[string]any{}
	}
	in["bits"] = 4.0
	if b.from("quant_bits") {
		in["type"], in["double"] = later(in["type"], "nf4"), later(in["double"], true)
	}
	if in["type"] == nil {
		in["type"] = bnbType
	}
	if in["compute"] == nil {
		in["compute"] = cmp.Or(p.computesIn(b, out), bnbCompute)
	}
	put(in, "adapters", p.system().QuantizedAdapters)
	if p.prepares() {
		in["prepare"] = true
	}
	if p.system().PreparesQuantized {
		in["prepare"], in["cast_back"] = true, true
	}
	out["quantization"] = in
	put(out, "versions.bitsandbytes", installed(p.files, bnbInfo))
	p.loadedQuantized(out)
	if lora, _ := out["lora"].(map[string]any); lora != nil {
		lora["peft"] = true // nobody else has adapters beside quantized weights
	}
}

// loadedQuantized is what quantizing says of the rest: it is from_pretrained that quantizes, and
// that loads a model as it is saved; PEFT's function that casts the rest to float32 turns
// checkpointing on as well.
func (p *Project) loadedQuantized(out map[string]any) {
	precision, _ := out["precision"].(string)
	if p.system().OwnProgram && out["weights"] == nil && (precision == "" || strings.HasPrefix(precision, "amp-")) && !strings.HasPrefix(p.transformers, "4.") {
		out["weights"] = setup.Saved
	}
	if p.checkpointsInCode() {
		out["checkpointing"] = true
	}
}

// from tells whether a key is called so.
func (b *bound) from(name string) bool {
	return strings.HasSuffix(b.key.Path, name)
}

// computesIn is the type of products where no key says it, "" for bitsandbytes' own.
// TRL takes the type that it loads weights in, Axolotl and LLaMA-Factory that of their
// arithmetic, ms-swift bfloat16 unless weights are loaded in something else.
func (p *Project) computesIn(b *bound, out map[string]any) string {
	precision, _ := out["precision"].(string)
	weights, _ := out["weights"].(string)
	held := weights
	if !strings.HasPrefix(precision, "amp-") {
		held = cmp.Or(weights, precision)
	}
	arithmetic := strings.TrimPrefix(precision, "amp-")
	switch {
	case p.inCode():
		return p.computeInCode()
	case p.system().Computes == computesAsHeld:
		return known(held)
	case p.system().Computes == computesAsArithmetic, b.from("quantization_bit"):
		return cmp.Or(known(arithmetic), "bf16")
	case b.from("quant_bits") && (held == "fp16" || held == "fp32"):
		return "fp32"
	case b.from("quant_bits"):
		return "bf16"
	}
	return ""
}

// known is a type of its own, rather than what files were saved in.
func known(dtype string) string {
	if slices.Contains(setup.ComputeTypes, dtype) {
		return dtype
	}
	return ""
}
