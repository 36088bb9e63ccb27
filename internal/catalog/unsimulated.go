// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	_ "embed"
	"fmt"
	"slices"
	"snug/internal/pattern"
	"strings"
)

// families.txt lists models of families that are not simulated: how their names begin, and what they are. The names
// are words without separators, as in whole; knownFamily marks models of a known family among them (Falcon 3 is a
// Llama).
//
//go:embed families.txt
var otherFamilies string

// maxWords is the number of words in a name that are examined. Published names have up to a dozen; a text of
// thousands is not a name.
const maxWords = 24

// knownFamily marks a simulated family in families.txt.
const knownFamily = "-"

// Unsimulated describes what a name stands for if snug does not simulate it, such as "a Falcon model"; otherwise "".
func Unsimulated(name string) string {
	kept, format := unquantized(words(lastElement(name)))
	switch {
	case format != "" && !simulated(format):
		return fmt.Sprintf("a checkpoint with quantized weights (%s)", format)
	case ofTimm(name):
		return "a timm model"
	}
	kept = kept[:min(len(kept), maxWords)]
	for i := range kept {
		if what := otherFamily(kept[i:]); what != "" {
			return strings.TrimPrefix(what, knownFamily)
		}
	}
	for _, w := range kept {
		switch {
		case slices.Contains(mediaWords, w):
			return fmt.Sprintf("a multimodal model (%s)", w)
		case w == "moe" || activeWord.In(w):
			return fmt.Sprintf("a mixture of experts (%s)", w)
		}
	}
	return ""
}

// ofTimm reports whether a name is timm's, such as vit_base_patch16_224. timm's models have their own layers.
func ofTimm(name string) bool {
	return strings.HasPrefix(name, "timm/") || strings.Contains(lastElement(name), "_patch")
}

// mediaWords mark models that process images or sound as well as text.
var mediaWords = []string{"vl", "vision", "audio", "omni", "multimodal", "video", "ocr", "speech", "tts", "asr"}

// activeWord matches the number of parameters that a token uses in a mixture of experts: a14b.
var activeWord = pattern.New(`^a\d+(\.\d+)?[bm]$`)

// otherFamily returns the description in families.txt for the words of a name, from the longest matching line; "" if
// there is none.
func otherFamily(words []string) string {
	name, longest, what := whole(words), "", ""
	for line := range strings.Lines(otherFamilies) {
		begins, is, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if len(begins) > len(longest) && strings.HasPrefix(name, begins) && endsWord(words, len(begins)) {
			longest, what = begins, is
		}
	}
	return what
}

// endsWord reports whether a word, or its part before a number, ends after n bytes of the words: sam matches sam2 but
// not samantha, and smollm3 does not match smollm-360m.
func endsWord(words []string, n int) bool {
	for _, w := range words {
		if n <= len(w) {
			return n == len(w) || w[n] == '.' || digit(w[n]) && !digit(w[n-1])
		}
		n -= len(w)
	}
	return false
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// bnb4bit is the format of checkpoints that bitsandbytes saved in 4 bits. It, gptq and awq are the simulated formats.
const bnb4bit = "bitsandbytes, 4 bits"

// quantizedWords maps words in names to formats of quantized checkpoints.
var quantizedWords = map[string]string{
	"gptq": gptq, "awq": awq, "gguf": "GGUF", "ggml": "GGML", "exl2": "EXL2", "aqlm": "AQLM", "hqq": "HQQ", "mlx": "MLX",
	"fp8": "FP8", "mxfp4": "MXFP4", "nvfp4": "NVFP4", "int4": "4 bits", "int8": "8 bits", "w4a16": "4 bits", "w8a8": "8 bits", "w8a16": "8 bits",
	"4bit": "4 bits", "4bits": "4 bits", "8bit": "8 bits", "8bits": "8 bits", "quantized": "format unknown", "bnb": "bitsandbytes", "nf4": "bitsandbytes",
}

// unquantized returns the words of a name without those for a quantized format, and the format; "" if there is none.
func unquantized(words []string) (kept []string, format string) {
	has := func(w string) bool { return slices.Contains(words, w) }
	for _, w := range words {
		switch what := quantizedWords[w]; {
		case what == "":
			kept = append(kept, w)
		case format == "":
			format = what
		}
	}
	if format == "bitsandbytes" && (has("4bit") || has("4bits")) || has("nf4") {
		format = bnb4bit
		kept = slices.DeleteFunc(kept, func(w string) bool { return w == "unsloth" })
	}
	switch {
	case has("gptq"):
		return withoutGroups(kept), gptq
	case has("awq"):
		return withoutGroups(kept), awq
	}
	return kept, format
}

// simulated reports whether checkpoints with weights in a quantized format are simulated.
func simulated(format string) bool { return format == bnb4bit || format == gptq || format == awq }

// savedIn4Bits returns the quantization_config of 4-bit checkpoints on the hub, including unsloth's.
func savedIn4Bits() map[string]any {
	return map[string]any{
		"quant_method": "bitsandbytes", "load_in_4bit": true, "bnb_4bit_quant_type": "nf4",
		"bnb_4bit_use_double_quant": true, "bnb_4bit_compute_dtype": "bfloat16",
	}
}
