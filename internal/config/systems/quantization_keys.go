// SPDX-License-Identifier: Apache-2.0

package systems

const (
	bnbConfig  = "transformers 5.17, utils/quantization_config.py: BitsAndBytesConfig"
	axolotlBnb = "axolotl 0.19, loaders/model.py: _set_quantization_config"
	swiftQuant = "ms-swift 4, arguments/base_args/quant_args.py"
	factoryBnb = "llamafactory 0.9.5, model/model_utils/quantization.py"
	FourBit    = "4 bits"
	eightBit   = "8 bits"

	OtherLibrary = "another library"

	BitsAndBytesType    = "fp4"  // BitsAndBytesConfig's own, which trainers that say nothing get
	BitsAndBytesCompute = "fp32" // likewise
)

// quantBits is a number of bits.
func quantBits(path, source string) Key {
	return Key{Setting: "quantized", Path: path, Kind: Word, Words: []Term{{"4", FourBit}, {"8", eightBit}, {"", ""}, {"none", ""}}, Means: "fewer bits", Source: source}
}

// quantMethod is the name of what quantizes, where that can be another than bitsandbytes.
func quantMethod(path, source string) Key {
	return Key{Setting: "quant_method", Path: path, Kind: Word, Words: []Term{{"bnb", "bitsandbytes"}, {"bitsandbytes", "bitsandbytes"}}, Means: OtherLibrary, Source: source}
}

// quantTypes is bnb_4bit_quant_type.
var quantTypes = []Term{{"nf4", "nf4"}, {"fp4", "fp4"}}

// ComputeTypes is bnb_4bit_compute_dtype, and computeNames what programs of one's own
// may call the same.
var (
	ComputeTypes = []Term{{"bfloat16", "bf16"}, {"float16", "fp16"}, {"float32", "fp32"}}
	computeNames = []Term{{"torch.bfloat16", "bf16"}, {"torch.float16", "fp16"}, {"torch.float32", "fp32"}, {"bf16", "bf16"}, {"fp16", "fp16"}, {"fp32", "fp32"}}
)

// bnbKeys are the arguments of BitsAndBytesConfig.
func bnbKeys(prefix, source string) []Key {
	return at(prefix,
		Key{Setting: "quantization.type", Path: "bnb_4bit_quant_type", Kind: Word, Words: quantTypes, Source: source},
		Key{Setting: "quantization.double", Path: "bnb_4bit_use_double_quant", Kind: Switch, Source: source},
		Key{Setting: "quantization.compute", Path: "bnb_4bit_compute_dtype", Kind: Word, Words: ComputeTypes, Reads: computeNames, Source: source},
	)
}
