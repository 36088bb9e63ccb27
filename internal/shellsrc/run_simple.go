// SPDX-License-Identifier: Apache-2.0

package shellsrc

import (
	"path"
	"slices"
	"strings"
)

// simple follows one command.
func (r *runner) simple(s simple) (outcome, flow) {
	words := r.commandWords(s)
	if len(words) == 0 {
		for _, a := range s.assignments {
			r.assign(a, false)
		}
		if len(s.words) > 0 {
			return unsure, onward
		}
		return yes, onward
	}
	name, known := words[0].Text()
	if f := r.functions[name]; known && f != nil && r.depth < maxCalls && r.spend(20) {
		return r.call(f, words[1:])
	}
	if known {
		if o, f, ok := r.builtin(name, words, s); ok {
			return o, f
		}
	}
	var environment []int
	var after map[string]*variable
	if len(s.assignments) > 0 {
		after = r.attempt(func() {
			for _, a := range s.assignments {
				r.assign(a, true)
				environment = append(environment, a.start)
			}
		})
	}
	r.record(s, words, environment)
	return r.inShell(words, after)
}

// commandWords returns a command's expanded words.
func (r *runner) commandWords(s simple) []Word {
	if s.declared == nil {
		return r.words(s.words)
	}
	var out []Word
	for i, w := range s.words {
		if _, assigns := s.declared[i]; !assigns {
			out = append(out, r.words([]word{w})...)
		}
	}
	return out
}

// maxCalls limits the depth of function calls and of nested evaluated texts.
const maxCalls = 12

// call follows a function.
func (r *runner) call(f *function, args []Word) (outcome, flow) {
	r.called[f.name] = true
	return r.body(f.body, frame{args: slices.Clone(args), of: f.name + "()", inside: true})
}

// body follows a function's body with its own arguments.
func (r *runner) body(s statement, with frame) (outcome, flow) {
	caller := r.frame
	r.frame = with
	r.depth++
	o, f := r.statement(s)
	r.depth--
	for _, l := range slices.Backward(r.frame.locals) {
		r.set(l.name, l.old)
	}
	r.frame = caller
	if f == exits {
		return o, f
	}
	return o, onward
}

// record stores a command, once for each way it expands.
func (r *runner) record(s simple, words []Word, environment []int) {
	if r.quiet > 0 {
		return
	}
	var key strings.Builder
	for _, w := range words {
		for _, p := range w.Pieces {
			if p.Why != "" {
				key.WriteString("\x00" + w.Raw)
			}
			key.WriteString(p.Text)
		}
		key.WriteByte(1)
		for _, at := range w.From {
			r.use(at)
		}
	}
	key.WriteString(string(rune(s.start)))
	if r.seen[key.String()] || !r.spend(len(words)/8) && len(r.seen) > 0 && r.repeats(s.start) {
		return
	}
	r.seen[key.String()] = true
	environment = append(environment, r.environment()...)
	slices.Sort(environment)
	c := Command{At: s.start, Words: words, Environment: environment, Maybe: r.maybe > 0}
	if len(s.heredocs) > 0 {
		c.Input = r.one(s.heredocs[len(s.heredocs)-1].text)
	}
	if s.target != nil {
		c.Writes = r.one(*s.target)
	}
	r.commands = append(r.commands, c)
}

// repeats reports whether the command at an offset was already recorded.
func (r *runner) repeats(at int) bool {
	return slices.ContainsFunc(r.commands, func(c Command) bool { return c.At == at })
}

// use marks an assignment as used by a command.
func (r *runner) use(at int) {
	if d := r.definitions[at]; d != nil {
		d.Used = true
	}
}

// inShell follows the text in bash -c "…", anywhere in a command.
func (r *runner) inShell(words []Word, prefixed map[string]*variable) (outcome, flow) {
	for i := 0; i+2 < len(words); i++ {
		name, _ := words[i].Text()
		option, _ := words[i+1].Text()
		if !slices.Contains([]string{"bash", "sh", "zsh", "dash"}, path.Base(name)) || !strings.HasPrefix(option, "-") || !strings.HasSuffix(option, "c") {
			continue
		}
		r.attempt(func() {
			r.adopt(prefixed)
			for name, v := range r.variables {
				if _, given := prefixed[name]; !given && !v.exported {
					defer r.set(name, nil)
				}
			}
			r.evaluate(words[i+2:i+3], frame{args: slices.Clone(words[min(i+4, len(words)):]), of: "the text"})
		})
		return succeeded, onward
	}
	return succeeded, onward
}

// evaluate follows a text assembled from words.
func (r *runner) evaluate(words []Word, with frame) (outcome, flow) {
	var text strings.Builder
	var places []int
	for i, w := range words {
		if i > 0 {
			text.WriteByte(' ')
			places = append(places, -1)
		}
		for _, p := range w.Pieces {
			written := p.Text
			if p.Why != "" {
				written = placeholder(r, p)
			}
			text.WriteString(written)
			for k := range len(written) {
				if p.At < 0 || p.Why != "" {
					places = append(places, -1)
				} else {
					places = append(places, p.At+k)
				}
			}
		}
	}
	if r.depth >= maxCalls || !r.spend(text.Len()) {
		return unsure, onward
	}
	body, _, err := parse(text.String(), places)
	if err != nil {
		return unsure, onward
	}
	return r.body(body, with)
}

// placeholder returns a variable that represents something unknown in a text to evaluate.
func placeholder(r *runner, p Piece) string {
	r.holders++
	name := "__unknown_" + strings.Repeat("x", r.holders%50+1)
	r.set(name, &variable{pieces: []Piece{p}, definition: -1, exported: true})
	return "${" + name + "}"
}
