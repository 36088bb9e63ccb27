// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/systems"
	"snug/internal/config/tree"
)

// unknownWord is a value that its system accepts but snug does not know.
type unknownWord struct{ text string }

func (k valueReader) readWord(t tree.Tree, at tree.Place) (any, error) {
	text, ok := systems.AsText(at.Value)
	if at.Value.Kind == doc.List { // fsdp: [full_shard, auto_wrap]
		names, err := k.readNames(t, at)
		if err != nil {
			return nil, err
		}
		text, ok = strings.Join(names.([]string), " "), true
	}
	if !ok {
		return nil, k.wrong(at)
	}
	means, known := k.Understand(text)
	switch {
	case known && k.SettingKind() == systems.Switch:
		return means == "true", nil
	case known:
		return means, nil
	case at.Value.Kind == doc.Null:
		return nil, nil
	case k.OnlyNoted():
		return k.Means, nil
	}
	return unknownWord{text}, nil
}

// readOn reads a key that is on if its number is above 1, or if it is present.
func (k valueReader) readOn(at tree.Place) any {
	f, counts := systems.AsNumber(at.Value)
	on, switches := systems.AsBool(at.Value)
	switch {
	case k.Kind == systems.Above1 && f > 1, k.Kind == systems.Present && at.Value.Len+len(at.Value.Keys) > 0:
		return k.Means
	case k.Kind == systems.Present && at.Value.Data != nil && at.Value.Data != "" && (counts || !switches || on):
		return k.Means
	}
	return ""
}

// readNames returns a list of names, which may be written in one string. Liger often has a single switch for all
// layers.
func (k valueReader) readNames(t tree.Tree, at tree.Place) (any, error) {
	if on, ok := at.Value.Data.(bool); ok && k.Setting == "liger" {
		return on, nil
	}
	if at.Value.Kind != doc.List {
		text, ok := at.Value.Data.(string)
		if n, number := at.Value.Data.(int64); number && k.Setting == "visible" {
			text, ok = strconv.FormatInt(n, 10), true // one GPU, by index
		}
		if !ok {
			return nil, k.wrong(at)
		}
		if inner, list := strings.CutPrefix(text, "["); list {
			text = strings.TrimSuffix(inner, "]") // Fire's list: [q_proj,v_proj]
		}
		names := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(", '\"", r) })
		return append(names, at.Value.More...), nil
	}
	names := []string{}
	for i := range at.Value.Len {
		item, err := t.Find(at.At.Join(strconv.Itoa(i)))
		if err != nil {
			return nil, err
		}
		text, ok := systems.AsText(item.Value)
		if !ok && item.Value.Kind == doc.Expression {
			return nil, nil // the program computes the names
		}
		if !ok {
			return nil, k.wrong(item)
		}
		names = append(names, text)
	}
	return names, nil
}

// readSchedule returns a map from epochs to numbers.
func (k valueReader) readSchedule(t tree.Tree, at tree.Place) (any, error) {
	if at.Value.Kind != doc.Map {
		return nil, k.wrong(at)
	}
	var phases []Phase
	for _, key := range at.Value.Keys {
		item, err := t.Find(at.At.Join(key))
		if err != nil {
			return nil, err
		}
		from, err := strconv.Atoi(strings.TrimSpace(key))
		count, ok := systems.AsNumber(item.Value)
		if err != nil || !ok || count < 1 || count != float64(int(count)) {
			return nil, fmt.Errorf("%s:%d:%d: %s is not an accumulation schedule like {0: 4, 8: 2}",
				item.File, item.Value.Line, item.Value.Column, at.Path)
		}
		phases = append(phases, Phase{from, int(count)})
	}
	if len(phases) == 0 {
		return nil, k.wrong(at)
	}
	slices.SortFunc(phases, func(a, b Phase) int { return cmp.Compare(a.From, b.From) })
	return phases, nil
}

// object returns a map as it would be decoded from JSON.
func object(t tree.Tree, at tree.Place) (any, error) {
	switch at.Value.Kind {
	case doc.Map:
		out := map[string]any{}
		for _, key := range at.Value.Keys {
			item, err := t.Find(at.At.Join(key))
			if err != nil {
				return nil, err
			}
			if out[key], err = object(t, item); err != nil {
				return nil, err
			}
		}
		return out, nil
	case doc.List:
		out := []any{}
		for i := range at.Value.Len {
			item, err := t.Find(at.At.Join(strconv.Itoa(i)))
			if err != nil {
				return nil, err
			}
			v, err := object(t, item)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	}
	if n, ok := at.Value.Data.(int64); ok {
		return float64(n), nil
	}
	return at.Value.Data, nil
}
