// SPDX-License-Identifier: Apache-2.0

package systems

const (
	bnbConfig  = "transformers 5.17, utils/quantization_config.py: BitsAndBytesConfig"
	axolotlBnb = "axolotl 0.19, loaders/model.py: _set_quantization_config"
	swiftQuant = "ms-swift 4, arguments/base_args/quant_args.py"
	factoryBnb = "llamafactory 0.9.5, model/model_utils/quantization.py"
)

// The effects of quantization keys, for messages.
const (
	FourBit      = "4 bits"          // weights quantized to 4 bits
	EightBit     = "8 bits"          // weights quantized to 8 bits
	ByGPTQ       = "by GPTQ"         // weights already quantized by GPTQ
	OtherLibrary = "another library" // not bitsandbytes
)

// Defaults of BitsAndBytesConfig, for trainers that set no types.
const (
	BitsAndBytesType    = "fp4"  // bitsandbytes' default for the 4-bit type
	BitsAndBytesCompute = "fp32" // bitsandbytes' default compute type
)

// Quantizer is what a key for a number of bits implies, unless other keys override it.
type Quantizer struct {
	Type        string      // type of the quantized weights; "" for bitsandbytes' default
	Double      bool        // whether the scales of the quantized weights are quantized too
	Computes    ComputeRule // rule for the compute type, if the trainer has none
	NeedsMethod bool        // weights are quantized only if another key names the method
	Prepares    bool        // weights that are not quantized are cast to float32 (prepare_model_for_kbit_training)
}

// factoryBits returns LLaMA-Factory's key for the number of bits.
func factoryBits(source string) Key {
	return quantBits("quantization_bit", source, Quantizer{Computes: ComputesAsArithmetic})
}

// swiftBits returns ms-swift's key for the number of bits.
func swiftBits(source string) Key {
	return quantBits("quant_bits", source, Quantizer{Type: "nf4", Double: true, Computes: ComputesUnlessLoaded, NeedsMethod: true})
}

// quantBits returns a key for the number of bits.
func quantBits(path, source string, by Quantizer) Key {
	return Key{Setting: "quantized", Quantizer: &by, Path: path, Kind: Word, Words: []Term{{"4", FourBit}, {"8", EightBit}, {"", ""}, {"none", ""}}, Means: "fewer bits", Source: source}
}

// quantMethod returns the key that names the quantization library, for systems that support libraries other than
// bitsandbytes.
func quantMethod(path, source string) Key {
	return Key{Setting: "quant_method", Path: path, Kind: Word, Words: []Term{{"bnb", "bitsandbytes"}, {"bitsandbytes", "bitsandbytes"}}, Means: OtherLibrary, Source: source}
}

// quantTypes are the values of bnb_4bit_quant_type.
var quantTypes = []Term{{"nf4", "nf4"}, {"fp4", "fp4"}}

// computeTypes are the values of bnb_4bit_compute_dtype, and computeNames are names for that setting in
// users' own programs.
var (
	computeTypes = []Term{{"bfloat16", "bf16"}, {"float16", "fp16"}, {"float32", "fp32"}}
	computeNames = []Term{{"torch.bfloat16", "bf16"}, {"torch.float16", "fp16"}, {"torch.float32", "fp32"}, {"bf16", "bf16"}, {"fp16", "fp16"}, {"fp32", "fp32"}}
)

// bnbKeys returns the arguments of BitsAndBytesConfig.
func bnbKeys(prefix, source string) []Key {
	return at(prefix,
		Key{Setting: "quantization.type", Path: "bnb_4bit_quant_type", Kind: Word, Words: quantTypes, Source: source},
		Key{Setting: "quantization.double", Path: "bnb_4bit_use_double_quant", Kind: Switch, Source: source},
		Key{Setting: "quantization.compute", Path: "bnb_4bit_compute_dtype", Kind: Word, Words: computeTypes, Reads: computeNames, Source: source},
	)
}

// BitsAndBytesArguments returns the keys of BitsAndBytesConfig in a script.
func BitsAndBytesArguments() []Key { return bnbKeys("", bnbConfig) }

// BitsAndBytes is the source of the arguments that load quantized weights.
const BitsAndBytes = bnbConfig

// ComputeType returns the compute type for a PyTorch name, or "" if unknown.
func ComputeType(name string) string {
	means, _ := Meaning(computeTypes, name)
	return means
}
