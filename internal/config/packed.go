// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"slices"
	"strings"

	"snug/internal/setup"
)

// Weights that bitsandbytes packs into 4 bits. Files turn it on with one key, and
// what is left open their trainers have each their own way: which type products are
// computed in, whether what is not packed is raised to float32, what adapters are cast
// to.

const (
	bnbConfig  = "transformers 5.17, utils/quantization_config.py: BitsAndBytesConfig"
	axolotlBnb = "axolotl 0.19, loaders/model.py: _set_quantization_config"
	swiftQuant = "ms-swift 4, arguments/base_args/quant_args.py"
	factoryBnb = "llamafactory 0.9.5, model/model_utils/quantization.py"
	packedTo4  = "4 bits"
	packedTo8  = "8 bits"

	otherLibrary = "another library"
)

// packsInto is a number of bits.
func packsInto(path, source string) Key {
	return Key{Setting: "quantized", Path: path, Kind: Word, Words: []word{{"4", packedTo4}, {"8", packedTo8}, {"", ""}, {"none", ""}}, Means: "fewer bits", Source: source}
}

// packsBy is the name of what packs, where that can be another than bitsandbytes.
func packsBy(path, source string) Key {
	return Key{Setting: "packs", Path: path, Kind: Word, Words: []word{{"bnb", "bitsandbytes"}, {"bitsandbytes", "bitsandbytes"}}, Means: otherLibrary, Source: source}
}

// packedTypes is bnb_4bit_quant_type.
var packedTypes = []word{{"nf4", "nf4"}, {"fp4", "fp4"}}

// computeTypes is bnb_4bit_compute_dtype, and computeNames what programs of one's own
// may call the same.
var (
	computeTypes = []word{{"bfloat16", "bf16"}, {"float16", "fp16"}, {"float32", "fp32"}}
	computeNames = []word{{"torch.bfloat16", "bf16"}, {"torch.float16", "fp16"}, {"torch.float32", "fp32"}, {"bf16", "bf16"}, {"fp16", "fp16"}, {"fp32", "fp32"}}
)

// bnbKeys are the arguments of BitsAndBytesConfig.
func bnbKeys(prefix, source string) []Key {
	return at(prefix,
		Key{Setting: "packed.type", Path: "bnb_4bit_quant_type", Kind: Word, Words: packedTypes, Source: source},
		Key{Setting: "packed.double", Path: "bnb_4bit_use_double_quant", Kind: Switch, Source: source},
		Key{Setting: "packed.compute", Path: "bnb_4bit_compute_dtype", Kind: Word, Words: computeTypes, Reads: computeNames, Source: source},
	)
}

// packing is the key that packs weights, nil where none does.
func (p *Project) packing() *bound {
	for _, b := range p.of("quantized") {
		if v, _ := b.Value.(string); v != "" {
			return &b
		}
	}
	return nil
}

// PackedAt is file:line of what packs weights, "" where nothing does.
func (p *Project) PackedAt() string {
	if b := p.packing(); b != nil && !p.says("packed.bits") {
		return b.where()
	}
	return ""
}

// packed says how weights are packed, where they are.
func (p *Project) packed(out map[string]any) {
	in, _ := out["packed"].(map[string]any)
	b := p.packing()
	if p.says("packed.bits") && in != nil {
		return // in a setup's own words
	}
	delete(out, "packed")
	if b == nil || p.unpackable(b) != "" || p.idles(b) {
		return
	}
	if in == nil {
		in = map[string]any{}
	}
	in["bits"] = 4.0
	if b.from("quant_bits") {
		in["type"], in["double"] = later(in["type"], "nf4"), later(in["double"], true)
	}
	if in["compute"] == nil {
		put(in, "compute", p.computesIn(b, out))
	}
	put(in, "adapters", p.adaptersIn())
	if p.raises() {
		in["raised"] = true
	}
	if p.system() == &axolotl {
		in["raised"], in["lowered"] = true, true
	}
	out["packed"] = in
	put(out, "versions.bitsandbytes", installed(p.files, bnbInfo))
	p.loadedPacked(out)
	if lora, _ := out["lora"].(map[string]any); lora != nil {
		lora["peft"] = true // nobody else has adapters beside packed weights
	}
}

// loadedPacked is what packing says of the rest: it is from_pretrained that packs, and
// that loads a model as it is saved; PEFT's function that raises the rest turns
// checkpointing on as well.
func (p *Project) loadedPacked(out map[string]any) {
	precision, _ := out["precision"].(string)
	byName := p.system() == &plain || p.system() == &shell
	if byName && out["weights"] == nil && (precision == "" || strings.HasPrefix(precision, "amp-")) && !strings.HasPrefix(p.transformers, "4.") {
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
	case p.system() == &trl:
		return known(held)
	case p.system() == &axolotl, b.from("quantization_bit"):
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

// adaptersIn is the type that adapters of packed weights are cast to: TRL's trainers
// want bfloat16 (1.16, trainer/sft_trainer.py).
func (p *Project) adaptersIn() string {
	if p.system() == &trl {
		return "bf16"
	}
	return ""
}
