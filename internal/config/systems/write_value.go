// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"fmt"
	"strconv"
	"strings"

	"snug/internal/config/doc"
)

// noChange is the type of Unchanged.
type noChange struct{}

// Unchanged means that a key already has the right value.
var Unchanged any = noChange{}

// Write returns a setting's value as written under the key: a bool, int, float64 or string, or Unchanged.
func (k *Key) Write(v any, now doc.Value, world int) (any, error) {
	switch k.Kind {
	case Whole:
		n, ok := v.(int)
		if !ok {
			return nil, k.Cannot(v)
		}
		if k.OverGPUs && k.Setting != "effective" {
			n *= world
		}
		if f, ok := AsNumber(now); ok && f == float64(n) {
			return Unchanged, nil
		}
		return n, nil
	case Number:
		f, ok := v.(float64)
		if n, whole := v.(int); whole {
			f, ok = float64(n), true
		}
		if !ok {
			return nil, k.Cannot(v)
		}
		if f == float64(int(f)) {
			return int(f), nil
		}
		return f, nil
	case Switch:
		return k.writeSwitch(v, now)
	case Word:
		return k.writeWord(v, now)
	case Name:
		return v, nil
	case Above0:
		return nil, fmt.Errorf("%s is a number (%s) that snug does not choose; set it yourself", k.Path, now.Text)
	}
	return nil, fmt.Errorf("snug does not change %s (%s); set it yourself", k.Path, k.Kind)
}

// Cannot returns the error for a value that the key cannot express.
func (k *Key) Cannot(v any) error {
	name := strings.TrimPrefix(k.Path, "**.")
	if k.Kind == Word && len(k.Reads) > 0 && (len(k.Words) == 0 || k.Source == byConvention || k.Source == "") {
		return fmt.Errorf("the values that your program accepts for %s are unknown; for %s %v, set it yourself", name, k.Setting, v)
	}
	return fmt.Errorf("%s cannot be set to %s %v", name, k.Setting, v)
}

func (k *Key) writeSwitch(v any, now doc.Value) (any, error) {
	on, ok := v.(bool)
	if k.Means != "" {
		on, ok = v == k.Means, true
	}
	if !ok {
		return nil, k.Cannot(v)
	}
	on = on != k.Inverted
	if was, known := AsBool(now); known && was == on && now.Kind != "" {
		return Unchanged, nil
	}
	return on, nil
}

// writeWord selects the word for the file. A key that cannot express the value is set to a neutral word, if it has
// one, because another key will express the value.
func (k *Key) writeWord(v any, now doc.Value) (any, error) {
	current, _ := AsText(now)
	means := fmt.Sprint(v)
	is, known := k.Understand(current)
	if known && is == means && now.Kind != "" {
		return Unchanged, nil
	}
	if _, own := Meaning(k.Words, current); !own && len(k.Reads) > 0 && now.Kind != "" {
		return nil, k.Cannot(v) // the current value is not one of the system's words
	}
	file, ok := Spelling(k.Words, means, current)
	if !ok {
		if file, ok = Spelling(k.Words, "", current); !ok || file == "" {
			return nil, k.Cannot(v)
		}
	}
	if file == current && now.Kind != "" {
		return Unchanged, nil
	}
	return typed(file), nil
}

// typed returns a word as the file's format would read it: true as a bool, 2 as a number, and an empty one as null.
func typed(file string) any {
	if file == "" {
		return nil
	}
	if b, err := strconv.ParseBool(file); err == nil && (file == "true" || file == "false") {
		return b
	}
	if n, err := strconv.Atoi(file); err == nil {
		return n
	}
	return file
}

// Spell returns a value as written under the key, if this key alone can express it.
func (k *Key) Spell(value any) (file any, ok bool) {
	switch k.Kind {
	case Word:
		_, ok = Spelling(k.Words, fmt.Sprint(value), "")
	case Whole:
		_, ok = value.(int)
	case Switch:
		ok = k.Means == "" || k.Means == value
	}
	if !ok {
		return nil, false
	}
	file, err := k.Write(value, doc.Value{}, 1)
	return file, err == nil
}
