// SPDX-License-Identifier: Apache-2.0

package shellsrc

import (
	"path"
	"strconv"
	"strings"
)

// output returns the output of $(…) for a few commands that only manipulate text; others are not run.
func (r *runner) output(p part) []Piece {
	why := unknown("the output of " + shortened(p.raw) + " is not known")
	if r.depth >= maxCalls || !r.spend(4+len(p.text)/4) {
		return why
	}
	body, _, err := parse(p.text, p.places)
	if err != nil || len(body) != 1 {
		return why
	}
	stages := []statement{body[0]}
	if pipe, ok := body[0].(pipeline); ok && !pipe.negated {
		stages = pipe.stages
	}
	text, ok := "", false
	for i, s := range stages {
		c, isSimple := s.(simple)
		if !isSimple || len(c.assignments)+len(c.heredocs) > 0 || c.declared != nil {
			return why
		}
		words, reason := r.texts(c.words)
		if reason != "" {
			return unknown(reason)
		}
		if i == 0 {
			text, ok = r.printed(words)
		} else {
			text, ok = filtered(words, text)
		}
		if !ok || len(text) > maxText {
			return why
		}
	}
	return computed(strings.TrimRight(text, "\n"))
}

// texts expands words that must all be known.
func (r *runner) texts(of []word) (out []string, why string) {
	for _, w := range r.words(of) {
		text, known := w.Text()
		if !known {
			return nil, w.Why()
		}
		out = append(out, text)
	}
	return out, ""
}

// printed returns the output of a command without input.
func (r *runner) printed(words []string) (string, bool) {
	if len(words) == 0 {
		return "", false
	}
	args := words[1:]
	switch {
	case words[0] == "echo":
		if len(args) > 0 && args[0] == "-n" {
			args = args[1:]
		}
		text := strings.Join(args, " ")
		return text + "\n", len(args) == 0 || !strings.HasPrefix(args[0], "-") && !strings.Contains(text, `\`)
	case words[0] == "expr":
		n, why := r.number(strings.Join(args, " "))
		return strconv.FormatInt(n, 10), why == "" && len(args) > 0
	case words[0] == "basename" && len(args) > 0 && len(args) < 3 && args[0] != "" && args[0][0] != '-':
		name := path.Base(args[0])
		if len(args) == 2 && name != args[1] {
			name = strings.TrimSuffix(name, args[1])
		}
		return name, name != "."
	case words[0] == "pwd" && len(args) == 0:
		return ".", true
	case words[0] == "dirname" && len(args) == 1 && args[0] != "" && args[0][0] != '-':
		return path.Dir(args[0]), path.Clean(args[0]) == args[0]
	case words[0] == "seq":
		return r.sequence(args)
	}
	return "", false
}

// sequence returns the output of seq.
func (r *runner) sequence(args []string) (string, bool) {
	first, step := int64(1), int64(1)
	var numbers []int64
	for _, a := range args {
		n, err := strconv.ParseInt(a, 10, 32)
		if err != nil {
			return "", false
		}
		numbers = append(numbers, n)
	}
	switch len(numbers) {
	case 1:
	case 2:
		first = numbers[0]
	case 3:
		first, step = numbers[0], numbers[1]
	default:
		return "", false
	}
	last := numbers[len(numbers)-1]
	if step < 1 || (last-first)/step > 1000 || !r.spend(int(max(last-first, 0)/step)) {
		return "", false
	}
	var b strings.Builder
	for n := first; n <= last; n += step {
		b.WriteString(strconv.FormatInt(n, 10) + "\n")
	}
	return b.String(), true
}

// filtered returns the output of the next command in a pipeline, for the usual ways to count or compute.
func filtered(words []string, text string) (string, bool) {
	trimmed := strings.TrimSpace(text)
	switch line := strings.Join(words, " "); {
	case line == "wc -w":
		return strconv.Itoa(len(strings.Fields(text))), true
	case line == "wc -l":
		return strconv.Itoa(strings.Count(text, "\n")), true
	case line == "awk -F, {print NF}" || line == "awk -F , {print NF}":
		return strconv.Itoa(strings.Count(trimmed, ",") + 1), trimmed != "" && !strings.Contains(trimmed, "\n")
	case len(words) == 3 && words[0] == "tr" && len(words[1]) == 1 && (len(words[2]) == 1 || words[2] == `\n`):
		return strings.ReplaceAll(text, words[1], strings.ReplaceAll(words[2], `\n`, "\n")), words[1] != `\`
	}
	return "", false
}
