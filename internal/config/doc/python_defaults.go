// SPDX-License-Identifier: Apache-2.0

package doc

import "slices"

// A parameter has the value of its default in a function's body if no call in the file passes it:
//
//	class Data:
//	    def __init__(self, batch_size=64):
//	        self.batch_size = batch_size      Data.__init__.self.batch_size
//	    def loader(self):
//	        return DataLoader(batch_size=self.batch_size)

// pyCalls are the arguments that a file's calls of one name pass.
type pyCalls struct {
	keywords []string
	any      bool // a call passes arguments by position or with *, so any of them may be passed
}

// callsIn returns the arguments of all calls, by the last name of what is called.
func callsIn(tokens []pyToken) map[string]pyCalls {
	out := map[string]pyCalls{}
	for i, t := range tokens {
		defined := i > 0 && (tokens[i-1].text == "def" || tokens[i-1].text == "class")
		if t.kind != pyName || defined || i+1 >= len(tokens) || tokens[i+1].text != "(" {
			continue
		}
		c := out[t.text]
		for _, part := range parts(tokens[i+1 : i+2+tokens[i+1].closing]) {
			if len(part) > 2 && part[0].kind == pyName && part[1].text == "=" {
				c.keywords = append(c.keywords, part[0].text)
			} else {
				c.any = true
			}
		}
		out[t.text] = c
	}
	return out
}

// passes reports whether a call may pass a parameter.
func (c pyCalls) passes(name string) bool { return c.any || slices.Contains(c.keywords, name) }

// bindDefaults gives the parameters of def name(a, b=1) their defaults while the function's body is read. The result
// restores the names.
func (p *pyParser) bindDefaults(line []pyToken) (restore func()) {
	before := map[string]*node{}
	restore = func() {
		for name, n := range before {
			if n == nil {
				delete(p.names, name)
			} else {
				p.names[name] = n
			}
		}
	}
	if len(line) < 4 || line[2].text != "(" {
		return restore
	}
	calls := p.calls[line[1].text]
	if line[1].text == "__init__" {
		calls = p.calls[p.class]
		if super := p.calls["__init__"]; super.any || len(super.keywords) > 0 {
			calls.any = true // a subclass may pass them
		}
	}
	for _, part := range parts(line[2 : 3+line[2].closing]) {
		if part[0].kind != pyName {
			continue
		}
		name := part[0].text
		before[name] = p.names[name]
		delete(p.names, name)
		_, value := splitParameter(part)
		if n := p.value(value, 0); len(value) > 0 && n.kind != Expression && n.kind != Map && !calls.passes(name) {
			p.names[name] = n
		}
	}
	return restore
}

// splitParameter splits name: type = value.
func splitParameter(part []pyToken) (name, value []pyToken) {
	for i := 0; i < len(part); i += 1 + part[i].closing {
		if part[i].text == "=" {
			return part[:1], part[i+1:]
		}
	}
	return part[:1], nil
}
