// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"snug/internal/shellsrc"
)

// shellSyntax reads the scripts that start training runs. Package shellsrc works out the words of each command and
// where their text is. The entries are variables and, for each command, its flags and assignments:
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
// Nothing is executed: a value that is known only when the script runs is an expression, with the reason.
type shellSyntax struct {
	beside   func(name string) (text string, ok bool) // the text of a file that the script sources
	commands []shCommand
	broken   map[int]int // commands that end too early, and where they were meant to continue
}

// shCommand is a command, with every way it is started, and its entries.
type shCommand struct {
	at      int
	runs    []shellsrc.Command
	entries []entry
}

// The styles of values.
const (
	shPlain    = "plain"
	shSingle   = "'"
	shDouble   = `"`
	shDefault  = "default"  // within ${NAME:-…}
	shSwitch   = "switch"   // a flag without a value
	shWithin   = "within"   // part of a longer text
	shComputed = "computed" // built from several texts
)

func (s *shellSyntax) parse(src []byte) (*node, error) {
	script, err := shellsrc.Read(string(src), s.beside)
	if err != nil {
		return nil, shellError(err)
	}
	p := newShParser(src, script)
	for _, d := range script.Definitions {
		p.define(d)
	}
	commands := s.mended(script.Commands)
	for i := 0; i < len(commands); {
		end := i + 1
		for end < len(commands) && commands[end].At == commands[i].At && commands[i].At >= 0 {
			end++
		}
		s.commands = append(s.commands, p.command(commands[i:end]))
		i = end
	}
	for _, d := range script.Definitions {
		p.loose(d)
	}
	slices.SortStableFunc(p.root.entries, func(a, b entry) int { return cmp.Compare(a.keyStart, b.keyStart) })
	numberRepeats(p.root, 0)
	return p.root, nil
}

// mended returns commands with the lines that were meant to continue them. A comment between continued lines ends a
// command, so the shell treats the next line, which begins with a flag, as a separate command.
func (s *shellSyntax) mended(of []shellsrc.Command) []shellsrc.Command {
	out := make([]shellsrc.Command, 0, len(of))
	for _, c := range of {
		last := len(out) - 1
		if last < 0 || c.At < 0 || out[last].At < 0 || !strings.HasPrefix(c.Words[0].Known(), "--") {
			out = append(out, c)
			continue
		}
		if s.broken == nil {
			s.broken = map[int]int{}
		}
		if s.broken[out[last].At] == 0 {
			s.broken[out[last].At] = c.At
			out[last].Words = slices.Clip(out[last].Words) // the slice may be shared with another way to start the command
		}
		out[last].Words = append(out[last].Words, c.Words...)
	}
	return out
}

// shParser builds the entries of a script.
type shParser struct {
	src         string
	root        *node
	words       []shellsrc.RawWord // in the order of the script
	definitions map[int]*node      // by start position
	names       map[*node]string   // names of the definitions
	owners      map[int]*node      // the values, by position
	there       map[shEntry]entry
}

// shEntry identifies an entry. A text that several commands use is a single entry.
type shEntry struct {
	key, text    string
	keyStart, at int
}

func newShParser(src []byte, script *shellsrc.Script) *shParser {
	words := slices.Clone(script.Words)
	slices.SortStableFunc(words, func(a, b shellsrc.RawWord) int { return cmp.Compare(a.Start, b.Start) })
	return &shParser{
		src: string(src), root: &node{kind: Map, start: contentStart(src), end: len(src)}, words: words,
		definitions: map[int]*node{}, names: map[*node]string{}, owners: map[int]*node{}, there: map[shEntry]entry{},
	}
}

// define adds a variable.
func (p *shParser) define(d shellsrc.Definition) {
	if d.IsList || d.Adds || len(d.Values) == 0 {
		return
	}
	n := p.value(d.Values[0], d.At)
	text, _ := d.Values[0].Text()
	switch {
	case len(d.Values) > 1:
		n = p.varying(d.Values, n)
	case strings.HasPrefix(text, "--") || strings.Contains(text, " --"):
		delete(p.owners, n.start)
		n = &node{kind: Expression, start: n.start, end: n.end, style: shComputed, fixed: "it contains flags"}
	}
	p.definitions[d.At], p.names[n] = n, d.Name
	p.root.entries = append(p.root.entries, entry{key: d.Name, keyStart: d.At, value: n})
}

// varying returns the value of a variable that takes several values in turn.
func (p *shParser) varying(values []shellsrc.Word, like *node) *node {
	var texts []string
	for _, v := range values {
		text, known := v.Text()
		if !known {
			text = v.Raw
		}
		texts = append(texts, text)
	}
	if len(texts) > 4 {
		texts = append(texts[:3], "…")
	}
	return &node{kind: Expression, start: like.start, end: like.end, style: shComputed,
		fixed: "it takes several values in turn: " + strings.Join(texts, ", ")}
}

// loose adds the flags in a text or an array that no command uses: another script may use it.
func (p *shParser) loose(d shellsrc.Definition) {
	if d.Used {
		return
	}
	words := d.List
	for _, v := range d.Values {
		if text, known := v.Text(); known && strings.Contains(text, " --") {
			words = v.Fields()
		}
	}
	uses := lastOnly(flagUses(words, true))
	for _, u := range uses {
		p.addUse(u, d.At)
	}
}

// addUse adds a flag, unless the same text has been added before, and returns its entry.
func (p *shParser) addUse(u *flagUse, at int) entry {
	u.keyStart = cmp.Or(max(u.keyStart, 0), at)
	id := shEntry{key: u.key, keyStart: u.keyStart, at: -1}
	if len(u.value.Pieces) == 1 {
		id.at = u.value.Pieces[0].At
	}
	id.text, _ = u.value.Text()
	if old, there := p.there[id]; there && u.value.Why() == "" {
		return old
	}
	p.there[id] = p.addEntry(entry{key: u.key, keyStart: u.keyStart, value: p.useValue(u, u.keyStart)})
	return p.there[id]
}

func (p *shParser) addEntry(e entry) entry {
	p.root.entries = append(p.root.entries, e)
	return e
}

// useValue returns the value of a flag.
func (p *shParser) useValue(u *flagUse, at int) *node {
	switch {
	case !u.isSwitch:
		n := p.value(u.value, at)
		n.more = u.more
		return n
	case u.start >= 0:
		return &node{kind: Bool, data: true, start: u.start, end: u.end, style: shSwitch, fixed: "it is a flag without a value"}
	}
	return &node{kind: Bool, data: true, start: at, end: at, style: shComputed, fixed: "the shell builds it from parts"}
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
