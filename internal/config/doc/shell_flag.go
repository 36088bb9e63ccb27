// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"fmt"
	"slices"
	"strings"
)

// InsertFlag adds a flag to the shell command that has another given flag. A true value is written as a flag
// without a value.
func (d *Document) InsertFlag(flag, beside Path, value any) (*Document, error) {
	value, err := plain(value)
	if err != nil {
		return nil, fmt.Errorf("%s: inserting %s: %w", d.name, flag, err)
	}
	e, line, err := d.commandOf(beside)
	if err != nil {
		return nil, err
	}
	item, err := flagItem(d.src, line, flag[0], value)
	if err != nil {
		return nil, d.errorAt(e.keyStart, fmt.Errorf("inserting %s: %w", flag, err))
	}
	return d.apply([]splice{besideFlag(d.src, e, item)}, expected{at: d.root, keys: flag, reads: value})
}

// SetFlag turns off a flag without a value by giving it one: --bf16 becomes --bf16 False, which parsers of
// booleans accept.
func (d *Document) SetFlag(flag Path, value any) (*Document, error) {
	e, line, err := d.commandOf(flag)
	if err != nil {
		return nil, err
	}
	if on, ok := value.(bool); e.value.style != shSwitch || !ok || on {
		return nil, d.errorAt(e.keyStart, fmt.Errorf("%s %w: only a flag without a value can be turned off", flag, ErrFixed))
	}
	text := " False"
	if usesEquals(d.src, line) {
		text = "=False"
	}
	return d.apply([]splice{{e.value.end, e.value.end, text}}, expected{at: e.value, reads: false})
}

// commandOf returns a flag of a shell script and the words of its command.
func (d *Document) commandOf(flag Path) (entry, []shWord, error) {
	if d.format != Shell || len(flag) != 1 {
		return entry{}, nil, fmt.Errorf("%s: %s %w: it is not a flag of a command", d.name, flag, ErrFixed)
	}
	i := slices.IndexFunc(d.root.entries, func(e entry) bool { return e.key == flag[0] })
	words, err := scanShell(d.src)
	if i < 0 || err != nil {
		return entry{}, nil, fmt.Errorf("%s: %s is %w", d.name, flag, ErrNotFound)
	}
	e := d.root.entries[i]
	at := slices.IndexFunc(words, func(w shWord) bool { return w.start == e.keyStart })
	if at < 0 {
		return entry{}, nil, d.errorAt(e.keyStart, fmt.Errorf("%s %w: it is part of a quoted text", flag, ErrFixed))
	}
	same := func(w shWord) bool { return w.command == words[at].command }
	from, to := at, at+1
	for from > 0 && same(words[from-1]) {
		from--
	}
	for to < len(words) && same(words[to]) {
		to++
	}
	return e, words[from:to], nil
}

// flagItem returns a flag with its value, in the style of the command's other flags.
func flagItem(src []byte, line []shWord, flag string, value any) (string, error) {
	if value == true {
		return flag, nil
	}
	text, err := shWordOf(value, "True") // as Python writes it
	if usesEquals(src, line) {
		return flag + "=" + text, err
	}
	return flag + " " + text, err
}

// besideFlag returns the splice that inserts an item after a flag and its value, on its own line if the flag has
// one. If the words after the flag could be taken for the new flag's value, it inserts the item before the flag.
func besideFlag(src []byte, e entry, item string) splice {
	end := e.value.end
	if e.value.style == shSingle || e.value.style == shDouble || e.value.style == shDefault || e.value.target != nil {
		end = wordEnd(src, max(e.value.start, e.keyStart))
	}
	rest := strings.TrimLeft(string(src[end:]), " \t")
	switch {
	case beginsLine(src, e.keyStart) && (rest == "" || strings.ContainsAny(rest[:1], "\\\r\n")):
		return splice{end, end, ` \` + newline(src) + indentation(src, e.keyStart) + item}
	case rest == "" || strings.ContainsAny(rest[:1], "\\\r\n-;|&)#"):
		return splice{end, end, " " + item}
	}
	return splice{e.keyStart, e.keyStart, item + " "}
}

// wordEnd returns the end of the shell word at a byte.
func wordEnd(src []byte, at int) int {
	words, _ := scanShell(src)
	for _, w := range words {
		if w.start <= at && at <= w.end && w.end > w.start {
			return w.end
		}
	}
	return at
}
