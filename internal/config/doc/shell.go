// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"slices"
	"strconv"
	"strings"
)

// shellSyntax reads the scripts that start trainings. shell_scan.go cuts them into words, and shell_match.go says
// which are variables, defaults, flags or assignments:
//
//	BATCH=8                    BATCH
//	ACC=${ACC:-4}              ACC: the 4, which applies unless the caller sets ACC
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
	p := shParser{src: src, all: string(src), root: &node{kind: Map, start: contentStart(src), end: len(src)}, variables: map[string][]*node{}}
	for i := 0; i < len(words); {
		end := i
		for end < len(words) && words[end].command == words[i].command {
			end++
		}
		before := len(p.root.entries)
		p.commandLine(words[i:end])
		p.lastOnly(before)
		i = end
	}
	p.link()
	numberRepeats(p.root, 0)
	return p.root, nil
}

type shParser struct {
	src       []byte
	all       string // src as a string, so that values can be slices of it
	root      *node
	variables map[string][]*node
	uses      []*node // values that are a variable
}

// shDeclares are commands that assignments may follow.
var shDeclares = []string{"export", "local", "declare", "readonly", "typeset", "env", "set"}

func (p *shParser) text(w shWord) string { return p.all[w.start:w.end] }

// commandLine reads the assignments, flags and arguments of one command.
func (p *shParser) commandLine(words []shWord) {
	assigning := true
	for i := 0; i < len(words); i++ {
		w := words[i]
		text := p.text(w)
		if name := assigned(text); name != "" && assigning {
			begin := w.start + len(name+"=")
			n := p.value(begin, w.end)
			p.add(name, w.start, n)
			p.variables[name] = append(p.variables[name], n)
			p.within(begin, w.end)
			continue
		}
		if assigning && !slices.Contains(shDeclares, text) && !strings.HasPrefix(text, "-") {
			assigning = false
		}
		i += p.argument(words[i:])
	}
}

// lastOnly removes the flags of a command that are given again later in it: a program takes the last one.
func (p *shParser) lastOnly(before int) {
	last := map[string]int{}
	command := p.root.entries[before:]
	for i, e := range command {
		if strings.HasPrefix(e.key, "-") {
			last[e.key] = i
		}
	}
	kept := command[:0]
	for i, e := range command {
		if at, flag := last[e.key]; !flag || at == i {
			kept = append(kept, e)
		}
	}
	p.root.entries = p.root.entries[:before+len(kept)]
}

// argument reads one argument and returns the number of further words that it took.
func (p *shParser) argument(words []shWord) int {
	w := words[0]
	text := p.text(w)
	flag, equals := flagOf(text)
	switch {
	case equals:
		p.add(flag, w.start, p.value(w.start+len(flag+"="), w.end))
	case flag != "" && flag == text:
		if next := p.following(words); next != nil {
			p.add(text, w.start, p.value(next.start, next.end))
			return 1
		}
		p.add(text, w.start, &node{kind: Bool, data: true, start: w.start, end: w.end, style: shSwitch, fixed: "it is a flag without a value"})
	default:
		if start, end, ok := overridden(text); ok {
			p.add(text[start:end], w.start, p.value(w.start+end+len("="), w.end))
			return 0
		}
		p.within(w.start, w.end)
	}
	return 0
}

// following returns the word that is a flag's value: the next one, or nil if that is a flag itself or an
// argument like a.b=1.
func (p *shParser) following(words []shWord) *shWord {
	if len(words) < 2 {
		return nil
	}
	next := p.text(words[1])
	if strings.HasPrefix(next, "-") && !isNegative(next) || isDottedKey(next) {
		return nil
	}
	return &words[1]
}

// within looks for flags in a quoted text that is a command itself.
func (p *shParser) within(start, end int) {
	text := p.all[start:end]
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
	n := &node{kind: Expression, start: start, end: end, style: shPlain, fixed: "the shell computes it"}
	text := p.all[start:end]
	inner := text
	if len(text) >= 2 && (text[0] == '"' || text[0] == '\'') && text[len(text)-1] == text[0] {
		n.style, inner = text[:1], text[1:len(text)-1]
	}
	if name := variableIn(inner); name != "" && n.style != shSingle {
		n.name = "$" + name
		p.uses = append(p.uses, n)
		return n
	}
	if from, to, ok := fallbackIn(inner); ok && n.style != shSingle {
		offset := start + len(text) - len(inner) - (len(text)-len(inner))/2
		n.start, n.end, n.style, n.fixed = offset+from, offset+to, shDefault, ""
		n.kind, n.data = shData(inner[from:to])
		return n
	}
	if n.style == shPlain && !isLiteral(inner) || strings.ContainsAny(inner, "$`\\\n\"") || n.style == shSingle && strings.Contains(inner, "'") {
		return n
	}
	n.fixed = ""
	n.kind, n.data = shData(inner)
	return n
}

// link links each use of a variable to its definition, if it has only one.
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

// shData returns the value that a program reads from an argument.
func shData(text string) (Kind, any) {
	if strings.Trim(text, "0123456789.eE+-") == "" {
		if i, err := strconv.ParseInt(text, 10, 64); err == nil && text[0] != '+' {
			return Int, i
		}
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return Float, f
		}
	}
	switch strings.ToLower(text) {
	case "true":
		return Bool, true
	case "false":
		return Bool, false
	}
	return Text, text
}
