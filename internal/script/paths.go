// SPDX-License-Identifier: Apache-2.0

package script

import (
	"path"
	"strings"
)

// pathValue is a pathlib.Path.
type pathValue string

// pathText returns the text of a path or a string, and false for all other values.
func pathText(v value) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case pathValue:
		return string(v), true
	}
	return "", false
}

func newPath(_ *interpreter, a arguments) value {
	if p, ok := joinedTexts(a.pos); ok {
		return pathValue(p)
	}
	return unknown{}
}

// joinedPath implements os.path.join.
func joinedPath(_ *interpreter, a arguments) value {
	if p, ok := joinedTexts(a.pos); ok {
		return p
	}
	return unknown{}
}

// joinedTexts joins the parts of a path. An absolute part replaces all parts before it.
func joinedTexts(parts []value) (joined string, ok bool) {
	for _, v := range parts {
		p, known := pathText(v)
		if !known || len(joined)+len(p) > maxText {
			return "", false
		}
		if joined = path.Join(joined, p); path.IsAbs(p) {
			joined = path.Clean(p)
		}
	}
	return joined, true
}

func pathPart(part func(string) string) func(*interpreter, arguments) value {
	return func(_ *interpreter, a arguments) value {
		if p, ok := pathText(a.or(0, "", nil)); ok {
			return part(p)
		}
		return unknown{}
	}
}

func (p pathValue) attr(_ *interpreter, name string) (value, bool) {
	base := path.Base(string(p))
	switch name {
	case "parent":
		return pathValue(path.Dir(string(p))), true
	case "name":
		return base, true
	case "suffix":
		return path.Ext(base), true
	case "stem":
		return strings.TrimSuffix(base, path.Ext(base)), true
	}
	return nil, false
}

func (p pathValue) call(in *interpreter, name string, a arguments) value {
	switch name {
	case "resolve", "absolute", "expanduser":
		return p
	case "with_suffix":
		if s, ok := a.or(0, "suffix", nil).(string); ok {
			return pathValue(strings.TrimSuffix(string(p), path.Ext(string(p))) + s)
		}
	case "with_name":
		if s, ok := a.or(0, "name", nil).(string); ok {
			return pathValue(path.Join(path.Dir(string(p)), s))
		}
	case "joinpath":
		return newPath(in, arguments{pos: append([]value{p}, a.pos...)})
	case "open":
		return &fileValue{string(p)}
	case "read_text":
		return (&fileValue{string(p)}).call(in, "read", a)
	case "mkdir", "touch", "unlink", "write_text":
		return nil
	}
	return unknown{}
}
