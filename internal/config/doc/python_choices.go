// SPDX-License-Identifier: Apache-2.0

package doc

import "strings"

// Choices returns the values that a Python program's parser accepts for a flag, as in
// add_argument("--precision", choices=["no", "bf16"]); nil if it accepts any value or the choices are
// computed.
func (d *Document) Choices(flag string) []string {
	if d.format != Python || !strings.Contains(d.text, "choices") {
		return nil
	}
	tokens, err := scanPython(d.src)
	if err != nil {
		return nil
	}
	p := pyParser{src: d.src, names: map[string]*node{}}
	for i, t := range tokens {
		if t.text != "add_argument" || i+2 >= len(tokens) || tokens[i+1].text != "(" || !declares(tokens[i+1:], flag) {
			continue
		}
		if e, _ := p.call(tokens[i:]).own("choices"); e != nil {
			return literals(e.value)
		}
		return nil
	}
	return nil
}

// declares reports whether a call of add_argument, from its bracket on, declares a flag.
func declares(call []pyToken, flag string) bool {
	for _, part := range parts(call[:1+call[0].closing]) {
		if s, ok := pyUnquote(part[0].text); ok && len(part) == 1 && part[0].kind == pyString && s == flag {
			return true
		}
	}
	return false
}

// literals returns the items of a list or tuple of texts and numbers; nil if one of them is computed.
func literals(list *node) []string {
	if list.kind != List {
		return nil
	}
	var out []string
	for _, e := range list.entries {
		if e.value.kind != Text && e.value.kind != Int && e.value.kind != Float {
			return nil
		}
		out = append(out, bare(e.value.data))
	}
	return out
}
