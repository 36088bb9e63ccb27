// SPDX-License-Identifier: Apache-2.0

package shellsrc

import "slices"

// test evaluates [ … ], test … and [[ … ]].
func (r *runner) test(words []Word) outcome {
	name, _ := words[0].Text()
	of := words[1:]
	if len(of) > 0 && name != "test" {
		of = of[:len(of)-1] // the closing bracket
	}
	return r.condition(of, name == "[[", 0)
}

// condition evaluates a condition: || binds loosest, then &&, then !.
func (r *runner) condition(of []Word, double bool, depth int) outcome {
	if depth > maxDepth || len(of) > 64 {
		return unsure
	}
	operators := []string{"-o", "-a"}
	if double {
		operators = []string{"||", "&&"}
	}
	for i, op := range operators {
		at := slices.IndexFunc(of, func(w Word) bool { text, _ := w.Text(); return text == op })
		if at <= 0 {
			continue
		}
		left, right := r.condition(of[:at], double, depth+1), r.condition(of[at+1:], double, depth+1)
		return combined(left, right, i == 0)
	}
	if first, known := firstText(of); known && first == "!" && len(of) > 1 {
		return map[outcome]outcome{yes: no, no: yes}[r.condition(of[1:], double, depth+1)]
	}
	for _, w := range of {
		if text, _ := w.Text(); text == "(" || text == ")" {
			return unsure
		}
	}
	return r.comparison(of, double)
}

func firstText(of []Word) (string, bool) {
	if len(of) == 0 {
		return "", false
	}
	return of[0].Text()
}

// combined returns the outcome of two conditions.
func combined(a, b outcome, or bool) outcome {
	decides, other := no, yes
	if or {
		decides, other = yes, no
	}
	switch {
	case a == decides || b == decides:
		return decides
	case a == other && b == other:
		return other
	}
	return unsure
}

// comparison evaluates a condition without operators between conditions.
func (r *runner) comparison(of []Word, double bool) outcome {
	switch len(of) {
	case 0:
		return no
	case 1:
		text, known := r.tested(of[0], true)
		return truth(text != "", known)
	case 2:
		op, _ := of[0].Text()
		text, known := r.tested(of[1], true)
		switch op {
		case "-z":
			return truth(text == "", known)
		case "-n":
			return truth(text != "", known)
		}
		return unsure
	case 3:
		op, _ := of[1].Text()
		a, known := r.tested(of[0], false)
		b, also := r.tested(of[2], false)
		if !known || !also {
			return unsure
		}
		return r.compared(a, op, b, double)
	}
	return unsure
}

func truth(t, known bool) outcome {
	switch {
	case !known:
		return unsure
	case t:
		return yes
	}
	return no
}

// tested returns a word's text in a condition. An argument that the caller may pass counts as missing, as if the
// script got no arguments. If only the presence of an environment variable is tested, it counts as missing too.
func (r *runner) tested(w Word, presence bool) (string, bool) {
	if allAbsent(w.Pieces) && (presence || isArgument(w)) {
		r.assumed = true
		return "", true
	}
	return w.Text()
}

// isArgument reports whether a word is one of the script's arguments.
func isArgument(w Word) bool {
	return len(w.Pieces) == 1 && w.Pieces[0].absent && w.Pieces[0].argument
}

// compared evaluates a op b.
func (r *runner) compared(a, op, b string, double bool) outcome {
	switch op {
	case "=", "==":
		if double {
			return truth(matchesGlob(b, a), len(a) < 4096 && len(b) < 4096)
		}
		return truth(a == b, true)
	case "!=":
		if double {
			return truth(!matchesGlob(b, a), len(a) < 4096 && len(b) < 4096)
		}
		return truth(a != b, true)
	case "<":
		return truth(a < b, double)
	case ">":
		return truth(a > b, double)
	}
	x, why := r.number(a)
	y, other := r.number(b)
	known := why == "" && other == ""
	switch op {
	case "-eq":
		return truth(x == y, known)
	case "-ne":
		return truth(x != y, known)
	case "-lt":
		return truth(x < y, known)
	case "-le":
		return truth(x <= y, known)
	case "-gt":
		return truth(x > y, known)
	case "-ge":
		return truth(x >= y, known)
	}
	return unsure
}
