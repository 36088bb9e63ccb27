// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"strconv"
	"strings"
)

// pythonSyntax reads the part of Python that configs are written in:
//
//	batch_size = 12                          batch_size
//	lr: float = 6e-4                         lr
//	cfg.data.batch_size = 8                  cfg.data.batch_size
//	cfg["epochs"] = 3                        cfg.epochs
//	train = dict(batch_size=8, opt={"lr": 1})  train.batch_size, train.opt.lr
//	class Config:                            Config.steps
//	    steps = 100
//	def main():                              main.args.bf16
//	    args = TrainingArguments(bf16=True)
//	parser.add_argument("--bs", default=4)   --bs (its default)
//	Trainer(args=T(bf16=True)).train()       Trainer.args.bf16
//
// What stands under if __name__ == "__main__" counts as the file's own. Other
// statements are passed over. Nothing is executed; 5 * 8 is worked out.
type pythonSyntax struct{}

func (pythonSyntax) parse(src []byte) (*node, error) {
	tokens, err := scanPython(src)
	if err != nil {
		return nil, err
	}
	p := pyParser{src: src, names: map[string]*node{}}
	root := &node{kind: Map, start: contentStart(src), end: len(src), style: pyBlock}
	p.block(root, pyLines(src, tokens))
	numberRepeats(root, 0)
	return root, nil
}

// The styles of maps and values.
const (
	pyBlock = "block" // statements
	pyDict  = "dict"  // {"a": 1}
	pyCall  = "call"  // f(a=1)
	pyAttr  = "attributes"
	pyPlain = "plain"
)

// pyLine is one logical line.
type pyLine struct {
	indent int
	tokens []pyToken
}

// pyLines groups tokens into logical lines; a semicolon ends one as well.
func pyLines(src []byte, tokens []pyToken) []pyLine {
	var lines []pyLine
	begin, indent := 0, -1
	for i, t := range tokens {
		if t.kind != pyNewline && (t.text != ";" || t.depth > 0) {
			continue
		}
		if line := tokens[begin:i]; len(line) > 0 {
			if indent < 0 {
				indent = line[0].start - max(lineStart(src, line[0].start), contentStart(src))
			}
			lines = append(lines, pyLine{indent, line})
		}
		if begin = i + 1; t.kind == pyNewline {
			indent = -1
		}
	}
	return lines
}

type pyParser struct {
	src   []byte
	names map[string]*node // the file's own names, for x = name
}

// block reads the statements of a file, a class or a function.
func (p *pyParser) block(into *node, lines []pyLine) {
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		end := i + 1
		for end < len(lines) && lines[end].indent > line.indent {
			end++
		}
		body := lines[i+1 : end]
		first := line.tokens[0].text
		switch {
		case (first == "class" || first == "def") && len(line.tokens) > 1:
			p.definition(into, line.tokens[1], body)
		case first == "if" && isMain(line.tokens):
			p.block(into, body)
		case len(body) == 0:
			p.statement(into, line.tokens)
		}
		i = end - 1
	}
}

// definition reads the body of a class or a function.
func (p *pyParser) definition(into *node, name pyToken, body []pyLine) {
	n := &node{kind: Map, start: name.start, end: name.end, style: pyBlock}
	p.block(n, body)
	if len(n.entries) == 0 {
		return
	}
	n.start = n.entries[0].keyStart
	n.end = n.start
	for _, e := range n.entries {
		n.end = max(n.end, e.value.end)
	}
	into.entries = append(into.entries, entry{key: name.text, keyStart: name.start, value: n})
}

// isMain knows if __name__ == "__main__".
func isMain(tokens []pyToken) bool {
	var text strings.Builder
	for _, t := range tokens {
		text.WriteString(strings.ReplaceAll(t.text, "'", `"`))
	}
	return text.String() == `if__name__=="__main__":`
}

// statement reads an assignment or a call.
func (p *pyParser) statement(into *node, tokens []pyToken) {
	target, value := splitAssignment(tokens)
	if value == nil {
		p.argument(into, tokens)
		p.trainer(into, tokens)
		return
	}
	steps := targetSteps(target)
	if steps == nil {
		return
	}
	n := p.value(value, 0)
	at := into
	for _, s := range steps[:len(steps)-1] {
		at = attribute(at, s)
	}
	last := steps[len(steps)-1]
	at.entries = append(at.entries, entry{key: last.text, keyStart: target[0].start, value: n})
	if len(steps) == 1 && into.style == pyBlock {
		p.names[last.text] = n
	}
}

// attribute is what an assignment like a.b = 1 puts b into.
func attribute(at *node, name pyToken) *node {
	for i := len(at.entries) - 1; i >= 0; i-- {
		if e := at.entries[i]; e.key == name.text {
			if e.value.kind == Expression && e.value.target == nil {
				e.value.kind, e.value.style = Map, pyAttr
			}
			if e.value.kind == Map {
				return e.value
			}
		}
	}
	n := &node{kind: Map, start: name.start, end: name.end, style: pyAttr}
	at.entries = append(at.entries, entry{key: name.text, keyStart: name.start, value: n})
	return n
}

// argument reads the default of parser.add_argument("--name", default=8).
func (p *pyParser) argument(into *node, tokens []pyToken) {
	for i, t := range tokens {
		if t.text != "add_argument" || i+2 >= len(tokens) || tokens[i+1].text != "(" {
			continue
		}
		call := p.call(tokens[i:])
		name := ""
		for _, a := range tokens[i+2:] {
			if s, ok := pyUnquote(a.text); a.kind == pyString && ok && strings.HasPrefix(s, "-") && a.depth == t.depth+1 {
				if name == "" || strings.HasPrefix(s, "--") && !strings.HasPrefix(name, "--") {
					name = s
				}
			}
		}
		if e, _ := call.own("default"); e != nil && name != "" {
			into.entries = append(into.entries, entry{key: name, keyStart: tokens[i+2].start, value: e.value})
		}
		return
	}
}

// trainer reads a call of a trainer that nobody gives a name: its arguments can be a
// run's whole configuration.
func (p *pyParser) trainer(into *node, tokens []pyToken) {
	for i, t := range tokens[:len(tokens)-1] {
		if t.kind != pyName || !strings.HasSuffix(t.text, "Trainer") || tokens[i+1].text != "(" || t.depth > 0 {
			continue
		}
		end := i + 2
		for end < len(tokens) && tokens[end].depth > t.depth {
			end++
		}
		if end == len(tokens) || tokens[end].text != ")" {
			return
		}
		n := &node{start: t.start, end: tokens[end].end, style: pyCall}
		p.arguments(n, tokens[i:end+1], 0)
		into.entries = append(into.entries, entry{key: t.text, keyStart: t.start, value: n})
		return
	}
}

// numberRepeats gives names that are there several times their numbers: a, a
// become a#1, a#2. Maps of one name (a function written twice) too.
func numberRepeats(n *node, depth int) {
	if depth > maxDepth || n.kind != Map {
		return
	}
	count := map[string]int{}
	for _, e := range n.entries {
		count[e.key]++
	}
	seen := map[string]int{}
	for i := range n.entries {
		e := &n.entries[i]
		if e.value.target == nil {
			numberRepeats(e.value, depth+1)
		}
		if key := e.key; count[key] > 1 {
			seen[key]++
			e.key = key + "#" + strconv.Itoa(seen[key])
		}
	}
}
