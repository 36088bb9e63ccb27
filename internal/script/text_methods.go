// SPDX-License-Identifier: Apache-2.0

package script

import "strings"

// stringMethod calls a method of a string.
func stringMethod(s, name string, a arguments) value {
	arg := func(i int) string { v, _ := a.or(i, "", "").(string); return v }
	switch name {
	case "lower":
		return strings.ToLower(s)
	case "upper":
		return strings.ToUpper(s)
	case "strip", "lstrip", "rstrip":
		return stripText(s, name, a)
	case "isdigit", "isnumeric", "isdecimal":
		return s != "" && strings.Trim(s, "0123456789") == ""
	case "count":
		return strings.Count(s, arg(0))
	case "find":
		return strings.Index(s, arg(0))
	case "replace":
		if strings.Count(s, arg(0))*len(arg(1)) > maxJoined {
			return unknown{}
		}
		return strings.ReplaceAll(s, arg(0), arg(1))
	case "join":
		return joinText(s, a.or(0, "", nil))
	case "splitlines":
		if s == "" {
			return &list{}
		}
		return textList(strings.Split(strings.TrimSuffix(s, "\n"), "\n"))
	case "startswith":
		return anyText(a.or(0, "", nil), func(part string) bool { return strings.HasPrefix(s, part) })
	case "endswith":
		return anyText(a.or(0, "", nil), func(part string) bool { return strings.HasSuffix(s, part) })
	case "removeprefix":
		return strings.TrimPrefix(s, arg(0))
	case "removesuffix":
		return strings.TrimSuffix(s, arg(0))
	case "split":
		return textList(splitText(s, a))
	case "rsplit":
		return textList(splitFromRight(s, a))
	case "partition", "rpartition":
		l := textList(partText(s, arg(0), name == "rpartition"))
		l.tuple = true
		return l
	}
	return unknown{}
}

// joinText implements join.
func joinText(sep string, v value) value {
	l, ok := v.(*list)
	if !ok || l.unseen {
		return unknown{}
	}
	var parts []string
	size := 0
	for _, v := range l.items {
		part, ok := v.(string)
		size += len(part) + len(sep)
		if !ok || size > maxJoined {
			return unknown{}
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, sep)
}

// stripText implements strip, lstrip and rstrip, of white space or of the given characters.
func stripText(s, method string, a arguments) value {
	cut, given := a.or(0, "chars", nil).(string)
	if !given {
		if v, ok := a.get(0, "chars"); ok && v != nil {
			return unknown{}
		}
		cut = " \t\n\r\v\f"
	}
	if method != "rstrip" {
		s = strings.TrimLeft(s, cut)
	}
	if method != "lstrip" {
		s = strings.TrimRight(s, cut)
	}
	return s
}

// anyText implements startswith and endswith, which accept a string or a tuple of strings.
func anyText(v value, is func(part string) bool) value {
	parts := []value{v}
	if l, ok := v.(*list); ok {
		parts = l.items
	}
	for _, p := range parts {
		part, ok := p.(string)
		if !ok {
			return unknown{}
		}
		if is(part) {
			return true
		}
	}
	return false
}

func textList(parts []string) *list {
	out := &list{}
	for _, p := range parts {
		out.items = append(out.items, p)
	}
	return out
}

// splitText implements split(sep, maxsplit).
func splitText(s string, a arguments) []string {
	sep, _ := a.or(0, "sep", "").(string)
	most, limited := a.or(1, "maxsplit", -1).(int)
	switch {
	case sep == "":
		return strings.Fields(s)
	case limited && most >= 0:
		return strings.SplitN(s, sep, most+1)
	}
	return strings.Split(s, sep)
}

// splitFromRight implements rsplit(sep, maxsplit): the first part contains the unsplit rest.
func splitFromRight(s string, a arguments) []string {
	sep, _ := a.or(0, "sep", "").(string)
	most, limited := a.or(1, "maxsplit", -1).(int)
	if sep == "" {
		return strings.Fields(s)
	}
	parts := strings.Split(s, sep)
	if extra := len(parts) - 1 - most; limited && most >= 0 && extra > 0 {
		parts = append([]string{strings.Join(parts[:extra+1], sep)}, parts[extra+1:]...)
	}
	return parts
}

// partText implements partition and rpartition.
func partText(s, sep string, last bool) []string {
	i := strings.Index(s, sep)
	if last {
		i = strings.LastIndex(s, sep)
	}
	switch {
	case sep == "" || i < 0 && !last:
		return []string{s, "", ""}
	case i < 0:
		return []string{"", "", s}
	}
	return []string{s[:i], sep, s[i+len(sep):]}
}
