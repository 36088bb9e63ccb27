// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"snug/internal/pattern"
)

// The formats of checkpoints that GPTQ and AWQ quantized.
const (
	gptq = "GPTQ"
	awq  = "AWQ"
)

var (
	// bitsWord matches the number of bits in the name of a quantized checkpoint: 4bit, int8.
	bitsWord = pattern.New(`^(?:int([2348])|([2348])bits?)$`)
	// groupWord matches the size of a group in such a name: 128g.
	groupWord = pattern.New(`^(\d{1,5})g$`)
)

// withoutGroups returns the words of a name without the number of bits and the size of a group.
func withoutGroups(words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return bitsWord.In(w) || groupWord.In(w) })
}

// savedPacked returns the quantization_config of a checkpoint that GPTQ or AWQ quantized, as far as its name gives it, and a
// description. Groups have 128 inputs unless the name says otherwise.
func savedPacked(format string, words []string) (config map[string]any, text string) {
	config = map[string]any{"quant_method": strings.ToLower(format)}
	bits, groups := 4.0, "groups of 128 assumed"
	for _, w := range words {
		if m := bitsWord.Find(w); m != nil {
			bits, _ = strconv.ParseFloat(m[1]+m[2], 64)
		}
		if m := groupWord.Find(w); m != nil {
			n, _ := strconv.ParseFloat(m[1], 64)
			config["group_size"], groups = n, "groups of "+m[1]
		}
	}
	config["bits"] = bits
	return config, fmt.Sprintf("quantized by %s (%g bits, %s)", format, bits, groups)
}
