// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"fmt"
	"slices"
	"strings"

	"snug/internal/config/doc"
)

// Choose returns the word for a setting's value among those that a program accepts. It keeps the current word
// if that means the same.
func (k *Key) Choose(v any, now doc.Value, world int, choices []string) (any, error) {
	if k.Kind != Word {
		file, err := k.Write(v, now, world)
		if err == nil && file != Unchanged && !slices.Contains(choices, fmt.Sprint(file)) {
			err = k.notAmong(v, choices)
		}
		return file, err
	}
	means := fmt.Sprint(v)
	current, _ := AsText(now)
	if is, known := k.Understand(current); known && is == means && now.Kind != "" {
		return Unchanged, nil
	}
	for _, c := range choices {
		if is, known := k.Understand(c); known && is == means {
			return typed(c), nil
		}
	}
	return nil, k.notAmong(v, choices)
}

// notAmong returns the error for a value that a program does not accept.
func (k *Key) notAmong(v any, choices []string) error {
	return fmt.Errorf("%s accepts %s; none of them is known to mean %s %v, so set it yourself",
		strings.TrimPrefix(k.Path, "**."), strings.Join(choices, ", "), k.Setting, v)
}

// passedTo are the words that calls of a library accept.
var passedTo = []struct {
	call, key string
	words     []Term
}{
	{"Trainer", "precision", lightningPrecision}, {"Fabric", "precision", lightningPrecision},
	{"Trainer", "strategy", lightningStrategies}, {"Fabric", "strategy", lightningStrategies},
}

// PassedTo returns the key for an argument of a call. A library's call accepts only the library's words.
func (k *Key) PassedTo(call string) *Key {
	name := strings.TrimPrefix(k.Path, "**.")
	for _, p := range passedTo {
		if p.call == call && p.key == name && k.Source == byConvention {
			own := *k
			own.Words, own.Reads = p.words, nil
			return &own
		}
	}
	return k
}
