// SPDX-License-Identifier: Apache-2.0

package script

import (
	"encoding/json"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
)

// Settings files that a script opens: JSON and YAML. Their values determine sizes and counts.

// fileValue is a file that the script has opened.
type fileValue struct{ path string }

func registerFiles() {
	natives["builtins.open"] = opened
	natives["io.open"] = opened
	natives["json.load"], natives["json.loads"] = decodes(decodeJSON), decodes(decodeJSON)
	for _, name := range []string{"safe_load", "load", "full_load", "unsafe_load"} {
		natives["yaml."+name] = decodes(func(in *interpreter, text string) (any, error) { return in.decodeYAML(text) })
	}
	natives["os.path.join"] = joinedPath
	natives["os.path.dirname"] = pathPart(path.Dir)
	natives["os.path.basename"] = pathPart(path.Base)
	for _, name := range []string{"abspath", "realpath", "normpath", "expanduser"} {
		natives["os.path."+name] = pathPart(path.Clean)
	}
	for _, name := range []string{"Path", "PurePath", "PosixPath"} {
		natives["pathlib."+name] = newPath
	}
}

func opened(_ *interpreter, a arguments) value {
	if name, ok := pathText(a.or(0, "file", nil)); ok {
		return &fileValue{name}
	}
	return unknown{}
}

func (f *fileValue) call(in *interpreter, name string, _ arguments) value {
	if name == "read" {
		if text, ok := in.textOf(f.path); ok {
			return text
		}
	}
	return unknown{}
}

// textOf returns the contents of a file, and reports whether it could be read.
func (in *interpreter) textOf(name string) (string, bool) {
	if in.Read == nil {
		return "", false
	}
	text, err := in.Read(name)
	if err != nil {
		in.note("the file %s cannot be read (%v); anything that depends on its values is unknown", name, err)
		return "", false
	}
	return text, true
}

// decodes returns a native function that applies decode to the contents of a file or to a string.
func decodes(decode func(*interpreter, string) (any, error)) func(*interpreter, arguments) value {
	return func(in *interpreter, a arguments) value {
		var text string
		ok := true
		switch v := a.or(0, "", nil).(type) {
		case string:
			text = v
		case *fileValue:
			text, ok = in.textOf(v.path)
		default:
			ok = false
		}
		if !ok {
			return unknown{}
		}
		v, err := decode(in, text)
		if err != nil {
			in.note("the contents of this file cannot be decoded (%v); anything that depends on its values is unknown", err)
			return unknown{}
		}
		out := in.decoded(v)
		if f, ok := a.or(0, "", nil).(*fileValue); ok {
			in.sizesOfFile(out, f.path)
			in.switchesOfFile(out)
		}
		return in.objectsHooked(out, a.or(-1, "object_hook", nil))
	}
}

// objectsHooked calls json.load's object_hook for each dict, inner dicts first.
func (in *interpreter) objectsHooked(v, hook value) value {
	if hook == nil || isUnknown(hook) {
		return v
	}
	switch v := v.(type) {
	case *list:
		for i, x := range v.items {
			v.items[i] = in.objectsHooked(x, hook)
		}
	case *dict:
		for i, x := range v.vals {
			v.vals[i] = in.objectsHooked(x, hook)
		}
		return in.invoke(hook, arguments{pos: []value{v}})
	}
	return v
}

func decodeJSON(_ *interpreter, text string) (v any, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

func (in *interpreter) decodeYAML(text string) (any, error) {
	if in.YAML == nil {
		return nil, errors.New("YAML is not supported here")
	}
	return in.YAML(text)
}

// decoded converts decoded JSON or YAML to Python's values.
func (in *interpreter) decoded(v any) value {
	in.grow(1)
	switch v := v.(type) {
	case nil, bool, int, float64, string:
		return v
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return int(n)
		}
		x, _ := v.Float64()
		return x
	case []any:
		out := &list{}
		for _, x := range v {
			out.items = append(out.items, in.decoded(x))
		}
		return out
	case map[string]any:
		out := &dict{}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out.set(k, in.decoded(v[k]))
		}
		return out
	}
	return unknown{}
}
