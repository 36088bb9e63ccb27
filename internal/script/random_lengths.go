// SPDX-License-Identifier: Apache-2.0

package script

import (
	"fmt"
	"slices"

	"snug/internal/pysrc"
)

// Samples of random lengths. If the bounds of a length are known, the sample has the largest one. That is exact if the
// samples are padded to one that always has that length; otherwise a note says that the lengths vary.

// random is a random number that decides the length of tensors.
type random struct {
	path    string
	at      pysrc.Pos
	text    string
	how     string // the option that gives the lengths
	padded  bool   // a sample was padded to one whose length is exact
	exposed bool   // a sample was padded to one whose length is random too
}

// randomSizes returns the sizes that a function makes a tensor of if some are random but bounded. Otherwise it only
// records that a size is random.
func (in *interpreter) randomSizes(a arguments) (size []int, found *random) {
	for _, v := range append(append([]value(nil), a.pos...), a.or(-1, "size", nil)) {
		switch v := v.(type) {
		case *place:
			in.randomLength(v)
		case *list:
			if size, found = in.largestSizes(v); size != nil {
				return size, found
			}
		}
	}
	return nil, nil
}

// largestSizes returns the sizes in a list with the most that each random one can be, and nil if one is unknown or none is
// random.
func (in *interpreter) largestSizes(l *list) (size []int, found *random) {
	known := len(in.Lengths) == 0
	for _, x := range l.items {
		n, isInt := x.(int)
		if p, random := x.(*place); random {
			found = in.randomLength(p)
			n, isInt = p.most+p.plus, p.most > p.least && p.most+p.plus > 0
		}
		size, known = append(size, n), known && isInt
	}
	if !known || found == nil {
		return nil, nil
	}
	return size, found
}

// randomLength records that a dimension of a tensor in host memory is random, so that batches vary in size.
func (in *interpreter) randomLength(p *place) *random {
	how := "--lengths"
	if p.least+p.plus > 0 && p.most > p.least {
		how = fmt.Sprintf("--lengths uniform:%d-%d", p.least+p.plus, p.most+p.plus)
	}
	text := "the length of this tensor is random, but every batch is simulated with the same length; if lengths vary, the run reserves more"
	path, at := in.where()
	i := slices.IndexFunc(in.randoms, func(r *random) bool { return r.path == path && r.at.Line == at.Line && r.text == text && r.how == how })
	if i < 0 {
		i = len(in.randoms)
		in.randoms = append(in.randoms, &random{path: path, at: at, text: text, how: how})
	}
	return in.randoms[i]
}

// noteRandoms adds the notes on lengths that vary.
func (in *interpreter) noteRandoms() {
	if in.survey != nil || len(in.Lengths) > 0 {
		return
	}
	for _, r := range in.randoms {
		if r.exposed || !r.padded {
			text := r.text
			if in.result.Called { // a model of the script's own is simulated only at the lengths in its code
				text += ": give them, as with " + r.how
			}
			in.result.Notes = append(in.result.Notes, fmt.Sprintf("%s:%d: %s", r.path, r.at.Line, text))
		}
	}
}

// looseOf returns the random number behind the length of a value, or nil.
func looseOf(v value) *random {
	switch v := v.(type) {
	case *hostTensor:
		return v.loose
	case *list:
		return v.loose
	}
	return nil
}

// anyLoose returns the random number behind the length of one of the values, or nil.
func anyLoose(vs []value) *random {
	for _, v := range vs {
		if r := looseOf(v); r != nil {
			return r
		}
	}
	return nil
}

// padded decides whether the length to which samples are padded is exact, because a sample with an exact length is the
// longest. If not, it returns the random number behind it.
func padded(samples []*hostTensor) (loose *random) {
	most, exact := 0, 0
	for _, t := range samples {
		most = max(most, t.size[0])
		if t.loose == nil {
			exact = max(exact, t.size[0])
		}
	}
	for _, t := range samples {
		switch {
		case t.loose == nil:
		case exact >= most:
			t.loose.padded = true
		default:
			t.loose.exposed = true
			loose = t.loose
		}
	}
	return loose
}
