// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"
	"reflect"
	"strings"
)

// FlagsBetween returns the flags that turn one run into another, as a user would type them: --batch 4
// --checkpointing. Settings that follow from others by default are omitted.
func FlagsBetween(from, to *Setup) []string {
	var out []string
	for _, x := range Settings() {
		object, _ := x.group()
		if len(x.Flags) == 0 || implied[x.Name] || !to.has(object) {
			continue
		}
		is := x.Value(to)
		same := reflect.ValueOf(is).IsZero() || reflect.DeepEqual(is, x.Default) // the same as in a new object
		if from.has(object) {
			same = reflect.DeepEqual(is, x.Value(from)) || x.typed(is) == x.typed(x.Value(from)) // truncated lengths have the same flag as their source
		}
		if !same {
			out = append(out, x.typed(is))
		}
	}
	return out
}

// implied lists adapter and quantization settings that get their usual values if they are not given.
var implied = map[string]bool{"lora.alpha": true, "lora.targets": true, "quantization.compute": true}

// has reports whether a setup has an object; "" means the setup itself.
func (s *Setup) has(object string) bool {
	switch object {
	case "lora":
		return s.LoRA != nil
	case "quantization":
		return s.Quantization != nil
	case "dist":
		return s.Dist != nil
	case "evaluation":
		return s.Evaluation != nil
	}
	return true
}

// typed returns a setting's flag with a value, as typed.
func (x *Setting) typed(value any) string {
	for _, f := range x.Flags {
		if f.Means != nil && reflect.DeepEqual(f.Means, value) {
			return "--" + f.Name
		}
	}
	name := "--" + x.Flags[0].Name
	switch v := value.(type) {
	case bool:
		if v {
			return name
		}
		return name + "=false"
	case []string:
		return name + " " + strings.Join(v, ",")
	case string:
		if v == "" {
			return name + " ''"
		}
	}
	return fmt.Sprintf("%s %v", name, value)
}
