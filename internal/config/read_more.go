// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"snug/internal/config/doc"
)

// unknownWord is a value that its system understands and snug does not.
type unknownWord struct{ text string }

func (k valueReader) readWord(t tree, at place) (any, error) {
	text, ok := scalarText(at.value)
	if at.value.Kind == doc.List { // fsdp: [full_shard, auto_wrap]
		names, err := k.readNames(t, at)
		if err != nil {
			return nil, err
		}
		text, ok = strings.Join(names.([]string), " "), true
	}
	if !ok {
		return nil, k.wrong(at)
	}
	means, known := k.means(text)
	switch {
	case known && k.sets() == Switch:
		return means == "true", nil
	case known:
		return means, nil
	case at.value.Kind == doc.Null:
		return nil, nil
	case k.aside():
		return k.Means, nil
	}
	return unknownWord{text}, nil
}

// readOn is what a key means that is on above 1, or by being there.
func (k valueReader) readOn(at place) any {
	f, counts := number(at.value)
	on, switches := truth(at.value)
	switch {
	case k.Kind == Above1 && f > 1, k.Kind == Present && at.value.Len+len(at.value.Keys) > 0:
		return k.Means
	case k.Kind == Present && at.value.Data != nil && at.value.Data != "" && (counts || !switches || on):
		return k.Means
	}
	return ""
}

// readNames is a list, or names in one text. Which layers are Liger's is often one
// switch for all.
func (k valueReader) readNames(t tree, at place) (any, error) {
	if on, ok := at.value.Data.(bool); ok && k.Setting == "liger" {
		return on, nil
	}
	if at.value.Kind != doc.List {
		text, ok := at.value.Data.(string)
		if !ok {
			return nil, k.wrong(at)
		}
		return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }), nil
	}
	names := []string{}
	for i := range at.value.Len {
		item, err := t.find(at.at.Join(strconv.Itoa(i)))
		if err != nil {
			return nil, err
		}
		text, ok := scalarText(item.value)
		if !ok {
			return nil, k.wrong(item)
		}
		names = append(names, text)
	}
	return names, nil
}

// readSchedule is a map from epochs to numbers.
func (k valueReader) readSchedule(t tree, at place) (any, error) {
	if at.value.Kind != doc.Map {
		return nil, k.wrong(at)
	}
	var phases []Phase
	for _, key := range at.value.Keys {
		item, err := t.find(at.at.Join(key))
		if err != nil {
			return nil, err
		}
		from, err := strconv.Atoi(strings.TrimSpace(key))
		count, ok := number(item.value)
		if err != nil || !ok || count < 1 || count != float64(int(count)) {
			return nil, fmt.Errorf("%s:%d:%d: %s is not a schedule of accumulation like {0: 4, 8: 2}",
				item.file, item.value.Line, item.value.Column, at.path)
		}
		phases = append(phases, Phase{from, int(count)})
	}
	if len(phases) == 0 {
		return nil, k.wrong(at)
	}
	slices.SortFunc(phases, func(a, b Phase) int { return cmp.Compare(a.From, b.From) })
	return phases, nil
}

// object is a map as JSON would have it.
func object(t tree, at place) (any, error) {
	switch at.value.Kind {
	case doc.Map:
		out := map[string]any{}
		for _, key := range at.value.Keys {
			item, err := t.find(at.at.Join(key))
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
		for i := range at.value.Len {
			item, err := t.find(at.at.Join(strconv.Itoa(i)))
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
	if n, ok := at.value.Data.(int64); ok {
		return float64(n), nil
	}
	return at.value.Data, nil
}
