// SPDX-License-Identifier: Apache-2.0

package script

import "regexp"

// patternValue is a compiled regular expression. Scripts use them to freeze layers by name.
type patternValue struct{ re *regexp.Regexp }

func registerPatterns() {
	natives["re.compile"] = func(_ *interpreter, a arguments) value { return compiledPattern(a.or(0, "pattern", nil)) }
	for _, name := range []string{"search", "match", "fullmatch"} {
		natives["re."+name] = func(in *interpreter, a arguments) value {
			p, ok := compiledPattern(a.or(0, "pattern", nil)).(*patternValue)
			if !ok {
				return unknown{}
			}
			return p.matches(name, a.or(1, "string", nil))
		}
	}
}

// maxPattern is the longest pattern that is compiled.
const maxPattern = 1000

// compiledPattern compiles a pattern. The result is unknown if the pattern's syntax differs between Go and
// Python.
func compiledPattern(v value) value {
	switch v := v.(type) {
	case *patternValue:
		return v
	case string:
		if re, err := regexp.Compile(v); err == nil && len(v) < maxPattern {
			return &patternValue{re}
		}
	}
	return unknown{}
}

func (p *patternValue) call(_ *interpreter, name string, a arguments) value {
	return p.matches(name, a.or(0, "string", nil))
}

// matches implements pattern.search(text) and similar methods. It returns None or a match.
func (p *patternValue) matches(how string, of value) value {
	text, ok := of.(string)
	if !ok {
		return unknown{}
	}
	at := p.re.FindStringSubmatchIndex(text)
	switch {
	case at == nil, how != "search" && at[0] != 0, how == "fullmatch" && at[1] != len(text):
		return nil
	}
	m := &matchValue{}
	for i := 0; i < len(at); i += 2 {
		if at[i] < 0 {
			m.groups = append(m.groups, nil)
			continue
		}
		m.groups = append(m.groups, text[at[i]:at[i+1]])
	}
	return m
}

// matchValue is a match of a pattern.
type matchValue struct{ groups []value }

func (m *matchValue) call(_ *interpreter, name string, a arguments) value {
	switch name {
	case "group":
		if i, ok := a.or(0, "", 0).(int); ok && i < len(m.groups) {
			return m.groups[i]
		}
	case "groups":
		return tupleOf(m.groups[1:]...)
	}
	return unknown{}
}
