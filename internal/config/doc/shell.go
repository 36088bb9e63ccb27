// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// shellSyntax reads the scripts that start trainings:
//
//	BATCH=8                    BATCH
//	ACC=${ACC:-4}              ACC: the 4, which holds unless the caller says else
//	python train.py \
//	  --batch-size $BATCH \    --batch-size: the 8 above
//	  --lr=1e-4 \              --lr
//	  --bf16 \                 --bf16: on, without a value
//	  trainer.epochs=3         trainer.epochs
//	ARGS=(--seq 128)           --seq
//	CMD="train --seed 1"       --seed
//
// Nothing is executed: a value that the shell puts together stays unknown.
type shellSyntax struct{}

// The styles of values.
const (
	shPlain   = "plain"
	shSingle  = "'"
	shDouble  = `"`
	shDefault = "default" // within ${NAME:-…}
	shSwitch  = "switch"  // a flag without a value
	shWithin  = "within"  // part of a longer quoted text
)

func (shellSyntax) parse(src []byte) (*node, error) {
	words, err := scanShell(src)
	if err != nil {
		return nil, err
	}
	p := shParser{src: src, root: &node{kind: Map, start: contentStart(src), end: len(src)}, variables: map[string][]*node{}}
	for i := 0; i < len(words); {
		end := i
		for end < len(words) && words[end].command == words[i].command {
			end++
		}
		p.commandLine(words[i:end])
		i = end
	}
	p.link()
	numberRepeats(p.root, 0)
	return p.root, nil
}

type shParser struct {
	src       []byte
	root      *node
	variables map[string][]*node
	uses      []*node // values that are a variable
}

var (
	shAssignment = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)=`)
	shFlag       = regexp.MustCompile(`^(--?[A-Za-z][A-Za-z0-9_.-]*)(=)?`)
	shOverride   = regexp.MustCompile(`^[+]{0,2}([A-Za-z_][A-Za-z0-9_./@-]*)=`)
	shDottedKey  = regexp.MustCompile(`^[+]{0,2}[A-Za-z_]\w*(\.\w+)+=`)
	shVariable   = regexp.MustCompile(`^\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})$`)
	shFallback   = regexp.MustCompile(`^\$\{([A-Za-z_][A-Za-z0-9_]*|[0-9]):?-([^{}$"'` + "`" + `\\]*)\}$`)
	shLiteral    = regexp.MustCompile(`^[A-Za-z0-9_./:+,=@%~^-]*$`)
	shNegative   = regexp.MustCompile(`^-[0-9.]`)
	shDeclares   = []string{"export", "local", "declare", "readonly", "typeset", "env", "set"}
)

func (p *shParser) text(w shWord) string { return string(p.src[w.start:w.end]) }

// commandLine reads the assignments, flags and arguments of one command.
func (p *shParser) commandLine(words []shWord) {
	assigning := true
	for i := 0; i < len(words); i++ {
		w := words[i]
		text := p.text(w)
		if m := shAssignment.FindStringSubmatchIndex(text); m != nil && assigning {
			n := p.value(w.start+m[1], w.end)
			name := text[:m[3]]
			p.add(name, w.start, n)
			p.variables[name] = append(p.variables[name], n)
			p.within(w.start+m[1], w.end)
			continue
		}
		if assigning && !slices.Contains(shDeclares, text) && !strings.HasPrefix(text, "-") {
			assigning = false
		}
		i += p.argument(words[i:])
	}
}

// argument reads one argument and says how many words more it took.
func (p *shParser) argument(words []shWord) int {
	w := words[0]
	text := p.text(w)
	m := shFlag.FindStringSubmatchIndex(text)
	switch {
	case m != nil && m[4] >= 0:
		p.add(text[:m[3]], w.start, p.value(w.start+m[1], w.end))
	case m != nil && m[1] == len(text):
		if next := p.following(words); next != nil {
			p.add(text, w.start, p.value(next.start, next.end))
			return 1
		}
		p.add(text, w.start, &node{kind: Bool, data: true, start: w.start, end: w.end, style: shSwitch, fixed: "it is a flag without a value"})
	default:
		if m := shOverride.FindStringSubmatchIndex(text); m != nil {
			p.add(text[m[2]:m[3]], w.start, p.value(w.start+m[1], w.end))
			return 0
		}
		p.within(w.start, w.end)
	}
	return 0
}

// following is the word that a flag's value is: the next one, unless that is a
// flag itself or an argument like a.b=1.
func (p *shParser) following(words []shWord) *shWord {
	if len(words) < 2 {
		return nil
	}
	next := p.text(words[1])
	if strings.HasPrefix(next, "-") && !shNegative.MatchString(next) || shDottedKey.MatchString(next) {
		return nil
	}
	return &words[1]
}

// within looks for flags in a quoted text that is a command itself.
func (p *shParser) within(start, end int) {
	text := string(p.src[start:end])
	if len(text) < 2 || text[0] != '"' && text[0] != '\'' || text[len(text)-1] != text[0] || !strings.Contains(text, " --") {
		return
	}
	if strings.ContainsAny(text[1:len(text)-1], "\"'`\\") {
		return
	}
	s := shScanner{src: p.src, at: start + 1, end: end - 1}
	for s.at < s.end {
		if s.next() != nil {
			return
		}
	}
	before := len(p.root.entries)
	for i := 0; i < len(s.words); i++ {
		i += p.argument(s.words[i:])
	}
	for _, e := range p.root.entries[before:] {
		if e.value.style == shPlain {
			e.value.style = shWithin
		}
	}
}

func (p *shParser) add(key string, at int, n *node) {
	p.root.entries = append(p.root.entries, entry{key: key, keyStart: at, value: n})
}

// value reads a word, or the rest of one.
func (p *shParser) value(start, end int) *node {
	n := &node{kind: Expression, start: start, end: end, style: shPlain, fixed: "it is put together by the shell"}
	text := string(p.src[start:end])
	inner := text
	if len(text) >= 2 && (text[0] == '"' || text[0] == '\'') && text[len(text)-1] == text[0] {
		n.style, inner = text[:1], text[1:len(text)-1]
	}
	if m := shVariable.FindStringSubmatch(inner); m != nil && n.style != shSingle {
		n.name = "$" + m[1] + m[2]
		p.uses = append(p.uses, n)
		return n
	}
	if m := shFallback.FindStringSubmatchIndex(inner); m != nil && n.style != shSingle {
		offset := start + len(text) - len(inner) - (len(text)-len(inner))/2
		n.start, n.end, n.style, n.fixed = offset+m[4], offset+m[5], shDefault, ""
		n.kind, n.data = shData(inner[m[4]:m[5]])
		return n
	}
	if n.style == shPlain && !shLiteral.MatchString(inner) || strings.ContainsAny(inner, "$`\\\n\"") || n.style == shSingle && strings.Contains(inner, "'") {
		return n
	}
	n.fixed = ""
	n.kind, n.data = shData(inner)
	return n
}

// link leads each use of a variable to its definition, where it has one only.
func (p *shParser) link() {
	for _, n := range p.uses {
		name := n.name[1:]
		if definitions := p.variables[name]; len(definitions) == 1 && definitions[0] != n {
			n.target, n.fixed = definitions[0], ""
		}
	}
	for _, n := range p.uses {
		if n.target != nil && n.resolve().target != nil { // a=$b b=$a
			n.target, n.fixed = nil, "its variables lead in a circle"
		}
	}
}

// shData is what a program makes of an argument.
func shData(text string) (Kind, any) {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil && text[0] != '+' {
		return Int, i
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && strings.Trim(text, "0123456789.eE+-") == "" {
		return Float, f
	}
	switch strings.ToLower(text) {
	case "true":
		return Bool, true
	case "false":
		return Bool, false
	}
	return Text, text
}
