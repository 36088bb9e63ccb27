// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"slices"
	"strings"

	"snug/internal/shellsrc"
)

// flagUse is a flag or an assignment among the words of a command.
type flagUse struct {
	key      string
	keyStart int
	start    int // where the flag is written; -1 if it is built from parts
	end      int
	value    shellsrc.Word
	isSwitch bool
	more     []string // further words before the next flag, which may be values too
}

// flagUses returns the flags and assignments of a command. The first word is skipped as the command's name,
// unless all is set.
func flagUses(words []shellsrc.Word, all bool) []*flagUse {
	out := make([]*flagUse, 0, len(words)/2)
	for i := 0; i < len(words); i++ {
		if i == 0 && !all && !strings.HasPrefix(words[0].Known(), "-") {
			continue
		}
		u, took := useAt(words[i:])
		if u != nil {
			out = append(out, u)
		} else if text, known := words[i].Text(); known && strings.Contains(text, " --") {
			out = append(out, flagUses(words[i].Fields(), true)...) // the word contains a command with flags
		}
		i += took
	}
	return out
}

// useAt returns the flag or assignment at the first word, nil if there is none, and the number of further words
// that it uses.
func useAt(words []shellsrc.Word) (u *flagUse, took int) {
	w := &words[0]
	known := w.Known()
	text, isKnown := w.Text()
	if strings.ContainsAny(known, " \n") && strings.Contains(known, " --") {
		return nil, 0
	}
	u = &flagUse{start: w.Start, end: w.End, keyStart: w.Start}
	if len(w.Pieces) > 0 && w.Pieces[0].At >= 0 && w.Variable == "" {
		u.keyStart = w.Pieces[0].At
	}
	flag, equals := flagOf(known)
	switch {
	case equals:
		u.key, u.value = flag, w.Cut(len(flag+"="))
		return u, 0
	case flag != "" && isKnown && flag == text:
		u.key = flag
		if len(words) < 2 || !isValue(words[1]) {
			u.isSwitch = true
			return u, 0
		}
		u.value = words[1]
		for _, further := range words[2:] {
			text, known := further.Text()
			if !known || !isValue(further) {
				break
			}
			u.more = append(u.more, text)
		}
		return u, 1
	}
	start, end, ok := overridden(known)
	if !ok {
		return nil, 0
	}
	u.key, u.value = known[start:end], w.Cut(end+len("="))
	return u, 0
}

// isValue reports whether a word after a flag may be its value: not a flag itself, nor an argument like a.b=1.
func isValue(w shellsrc.Word) bool {
	text := w.Known()
	return (!strings.HasPrefix(text, "-") || isNegative(text)) && !isDottedKey(text) && !(w.Many() && text == "" && strings.Contains(w.Raw, "@"))
}

// lastOnly omits flags that are given again later, because a program uses the last one.
func lastOnly(uses []*flagUse) []*flagUse {
	last := make(map[string]int, len(uses))
	for i, u := range uses {
		last[u.key] = i
	}
	out := uses[:0]
	for i, u := range uses {
		if last[u.key] == i || !strings.HasPrefix(u.key, "-") {
			out = append(out, u)
		}
	}
	return out
}

// command adds the flags of a command that may be started in several ways.
func (p *shParser) command(runs []shellsrc.Command) shCommand {
	out := shCommand{at: runs[0].At, runs: runs}
	first := lastOnly(flagUses(runs[0].Words, false))
	others := make([]map[string]*flagUse, 0, len(runs)-1)
	for _, r := range runs[1:] {
		byKey := map[string]*flagUse{}
		for _, u := range lastOnly(flagUses(r.Words, false)) {
			byKey[u.key] = u
		}
		others = append(others, byKey)
	}
	at := max(out.at, 0)
	seen := map[string]bool{}
	for _, u := range first {
		seen[u.key] = true
		out.entries = append(out.entries, p.addMerged(u, others, at))
	}
	for _, byKey := range others {
		for _, u := range inOrder(byKey) {
			if !seen[u.key] {
				seen[u.key] = true
				e := entry{key: u.key, keyStart: max(u.keyStart, 0), value: p.sometimes(u, at)}
				out.entries = append(out.entries, p.addEntry(e))
			}
		}
	}
	return out
}

// addMerged adds a flag that must be the same in every way a command is started.
func (p *shParser) addMerged(u *flagUse, others []map[string]*flagUse, at int) entry {
	values := []shellsrc.Word{u.value}
	for _, byKey := range others {
		o, there := byKey[u.key]
		if !there || o.isSwitch != u.isSwitch {
			return p.addEntry(entry{key: u.key, keyStart: max(u.keyStart, 0), value: p.sometimes(u, at)})
		}
		a, known := u.value.Text()
		b, also := o.value.Text()
		if (a != b || known != also) && !hasText(values, b) {
			values = append(values, o.value)
		}
	}
	if len(values) == 1 {
		return p.addUse(u, at)
	}
	n := p.varying(values, p.useValue(u, at))
	return p.addEntry(entry{key: u.key, keyStart: max(u.keyStart, 0), value: n})
}

func hasText(words []shellsrc.Word, text string) bool {
	for _, w := range words {
		if t, _ := w.Text(); t == text {
			return true
		}
	}
	return false
}

// sometimes returns the value of a flag that a command gets only in some iterations of its loop.
func (p *shParser) sometimes(u *flagUse, at int) *node {
	like := p.useValue(u, at)
	return &node{kind: Expression, start: like.start, end: like.end, style: shComputed, fixed: "the command gets it only in some iterations of its loop"}
}

// inOrder returns the flags in the order of the script.
func inOrder(of map[string]*flagUse) []*flagUse {
	keys := make([]string, 0, len(of))
	for key := range of {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	out := make([]*flagUse, 0, len(keys))
	for _, key := range keys {
		out = append(out, of[key])
	}
	return out
}
