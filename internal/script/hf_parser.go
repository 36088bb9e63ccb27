// SPDX-License-Identifier: Apache-2.0

package script

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// hfParser is transformers' HfArgumentParser (hf_argparser.py, 5.17).
type hfParser struct{ classes []value }

func newHfParser(_ *interpreter, a arguments) value {
	v := a.or(0, "dataclass_types", nil)
	if l, ok := v.(*list); ok {
		return &hfParser{classes: l.items}
	}
	return &hfParser{classes: []value{v}}
}

func (p *hfParser) call(in *interpreter, name string, a arguments) value {
	var given map[string]any
	switch name {
	case "parse_args_into_dataclasses", "parse_args", "parse_args_and_config":
		given = flagsOf(in.Args)
	case "parse_dict":
		given = textKeys(a.or(0, "args", nil))
	case "parse_json_file", "parse_yaml_file":
		given = map[string]any{}
		in.note("the arguments in this file are not read; their defaults are used")
	case "set_defaults", "add_argument":
		return nil
	default:
		return unknown{}
	}
	for k, v := range in.Settings {
		if _, ok := given[k]; !ok {
			given[k] = v
		}
	}
	out := &list{tuple: true}
	for _, c := range p.classes {
		out.items = append(out.items, in.filled(c, given))
	}
	if rest, _ := a.or(-1, "return_remaining_strings", false).(bool); rest {
		out.items = append(out.items, &list{})
	}
	return out
}

// filled makes an object of a dataclass with the given fields set.
func (in *interpreter) filled(c value, given map[string]any) value {
	cl, ok := c.(*class)
	if !ok {
		return unknown{}
	}
	var a arguments
	for _, f := range cl.allFields() {
		otherwise, _ := cl.find(f)
		_, flag := otherwise.(bool)
		v, ok := given[f]
		if _, off := given["no_"+f]; off && !ok && flag {
			v, ok = false, true
		}
		in.sawField(f, v, otherwise, ok)
		if ok {
			a.names, a.named = append(a.names, f), append(a.named, asFlag(v, flag))
		}
	}
	return in.construct(cl, a)
}

// asFlag converts a value like string_to_bool if the field is a bool.
func asFlag(v value, flag bool) value {
	if !flag {
		return v
	}
	switch v {
	case 0, "no", "n", "f":
		return false
	case 1, "y", "t":
		return true
	}
	return v
}

// textKeys returns the values of a dict by their string keys.
func textKeys(v value) map[string]any {
	out := map[string]any{}
	if d, ok := v.(*dict); ok {
		for i, k := range d.keys {
			if name, ok := k.(string); ok {
				out[name] = hold(d.vals[i])
			}
		}
	}
	return out
}

// flagsOf parses command-line flags like HfArgumentParser: several values in a row form a list.
func flagsOf(args []string) map[string]any {
	out := map[string]any{}
	for i := 0; i < len(args); i++ {
		name, ok := strings.CutPrefix(args[i], "--")
		if !ok {
			continue
		}
		name, text, joined := strings.Cut(name, "=")
		var texts []string
		if joined {
			texts = []string{text}
		}
		for !joined && i+1 < len(args) && !strings.HasPrefix(args[i+1], "--") {
			i++
			texts = append(texts, args[i])
		}
		out[strings.ReplaceAll(name, "-", "_")] = flagValues(texts)
	}
	return out
}

func flagValues(texts []string) value {
	switch len(texts) {
	case 0:
		return true
	case 1:
		return flagValue(texts[0])
	}
	l := &list{}
	for _, t := range texts {
		l.items = append(l.items, flagValue(t))
	}
	return l
}

func flagValue(text string) value {
	switch strings.ToLower(text) {
	case "true", "yes":
		return true
	case "false":
		return false
	}
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	if x, err := strconv.ParseFloat(text, 64); err == nil {
		return x
	}
	if strings.HasPrefix(text, "{") {
		var read map[string]any
		if json.Unmarshal([]byte(text), &read) == nil {
			return fromJSON(read)
		}
	}
	return text
}

// fromJSON converts a JSON value to a Python value.
func fromJSON(v any) value {
	switch v := v.(type) {
	case map[string]any:
		d := &dict{}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			d.set(k, fromJSON(v[k]))
		}
		return d
	case []any:
		l := &list{}
		for _, x := range v {
			l.items = append(l.items, fromJSON(x))
		}
		return l
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int(v)
		}
		return v
	case string:
		return flagValue(v)
	}
	return v
}
