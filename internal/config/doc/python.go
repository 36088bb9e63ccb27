// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"slices"
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
//	    bs: int = field(default=4)           Config.bs (its default)
//	def main():                              main.args.bf16
//	    args = TrainingArguments(bf16=True)
//	parser.add_argument("--bs", default=4)   --bs (its default)
//	args = parser.parse_args()
//	DataLoader(batch_size=args.bs)           takes its value from --bs
//	Trainer(args=T(bf16=True)).train()       Trainer.args.bf16
//
// Statements under if __name__ == "__main__" are treated as top-level. Other statements are skipped. Nothing
// is executed, but constant arithmetic like 5 * 8 is evaluated.
type pythonSyntax struct{}

func (pythonSyntax) parse(src []byte) (*node, error) {
	tokens, err := scanPython(src)
	if err != nil {
		return nil, err
	}
	p := pyParser{src: src, calls: callsIn(tokens), own: map[string]*node{}, names: map[string]*node{}, open: map[*node]map[string]*node{}, options: map[string]*node{}, parsed: map[string]bool{}, overwritten: map[string]bool{}}
	root := &node{kind: Map, start: contentStart(src), end: len(src), style: pyBlock}
	p.block(root, pyLines(src, tokens))
	p.resolveArguments()
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

// pyLines groups tokens into logical lines; a semicolon ends a line as well.
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
			if head := headerOf(line); head > 0 { // the rest of the line is the body, so it is deeper
				lines = append(lines, pyLine{indent, line[:head]})
				indent, line = indent+1, line[head:]
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
	names map[string]*node // the names that the file defines, for x = name
	// open contains the objects that can have attributes, by name: for each block with an assignment like a.b
	// = 1, the last object of that name.
	open map[*node]map[string]*node
	// options are the defaults of the program's flags, by their names in the parsed arguments; nil for a flag that
	// is declared twice. parsed are the variables that contain those arguments, passed are the values args.name, and
	// overwritten are the arguments that the program assigns to.
	options             map[string]*node
	parsed, overwritten map[string]bool
	passed              []pyPassed
	// calls are the arguments that calls pass, by the called name. class is the class whose body is read, and own are the
	// attributes that its methods have assigned to self.
	calls map[string]pyCalls
	class string
	own   map[string]*node
}

// headerOf returns the number of tokens before the body of a function that is defined on one line, as in
// def f(x): return x; 0 for any other line.
func headerOf(line []pyToken) int {
	if line[0].text != "def" {
		return 0
	}
	at := slices.IndexFunc(line, func(t pyToken) bool { return t.text == ":" && t.depth == line[0].depth }) + 1
	if at == len(line) {
		return 0
	}
	return at
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
			p.definition(into, line.tokens, body)
		case first == "if" && isMain(line.tokens):
			p.block(into, body)
		case len(body) == 0:
			p.statement(into, line.tokens)
		}
		i = end - 1
	}
}

// definition reads the body of a class or a function.
func (p *pyParser) definition(into *node, line []pyToken, body []pyLine) {
	name := line[1]
	n := &node{kind: Map, start: name.start, end: name.end, style: pyBlock}
	if line[0].text == "class" {
		class, own := p.class, p.own
		p.class, p.own = name.text, map[string]*node{}
		p.block(n, body)
		p.class, p.own = class, own
	} else {
		restore := p.bindDefaults(line)
		p.block(n, body)
		restore()
	}
	if len(n.entries) == 0 {
		return
	}
	n.start = n.entries[0].keyStart
	n.end = n.start
	for _, e := range n.entries {
		n.end = max(n.end, e.value.end)
	}
	p.add(into, entry{key: name.text, keyStart: name.start, value: n})
}

// isMain reports whether a line is if __name__ == "__main__".
func isMain(tokens []pyToken) bool {
	var text strings.Builder
	for _, t := range tokens {
		text.WriteString(strings.ReplaceAll(t.text, "'", `"`))
	}
	return text.String() == `if__name__=="__main__":`
}

// numberRepeats numbers names that occur several times: a, a become a#1, a#2. This includes maps, as for a
// function that is defined twice.
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
