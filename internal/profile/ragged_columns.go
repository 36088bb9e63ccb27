// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"maps"
	"slices"
	"strings"
)

// table holds the columns of all steps of all recordings. Equal columns are stored once.
type table struct {
	run        []string   // the quantities of a run
	candidates []quantity // quantities that change from step to step, the base columns first
	rows       []map[string]int64
	values     [][]int64 // by point: the quantities of the run, then the candidates
}

// rounds are the multiples that kernels and programs round lengths up to.
var rounds = []int64{4, 8, 16, 32, 64}

// maxCandidates limits the work of choosing quantities.
const maxCandidates = 12

// newTable returns the table for the steps in rows; at has the sizes of the run at each step.
func newTable(names []string, at [][]int64, rows []map[string]int64) *table {
	t := &table{run: names, rows: rows}
	var seen [][]int64
	for k := range names {
		seen = append(seen, column(len(rows), func(i int) int64 { return at[i][k] }))
	}
	add := func(q quantity) {
		least := slices.Min(column(len(rows), func(i int) int64 { return rows[i][q.Column] }))
		values := column(len(rows), func(i int) int64 { return q.of(rows[i][q.Column]) })
		if least < 1 || slices.Max(values) > maxQuantity || slices.Min(values) == slices.Max(values) {
			return
		}
		if !slices.ContainsFunc(seen, func(s []int64) bool { return slices.Equal(s, values) }) {
			seen = append(seen, values)
			t.candidates = append(t.candidates, q)
		}
	}
	for _, name := range t.names() {
		add(t.shifted(name))
	}
	t.candidates = t.candidates[:min(len(t.candidates), maxCandidates)]
	seen = seen[:len(names)+len(t.candidates)]
	for _, q := range slices.Clone(t.candidates) {
		for _, stride := range []int64{2, 4} {
			if isDimension(q.Column) {
				add(quantity{Column: q.Column, Shift: q.Shift, Stride: stride})
			}
		}
		for _, m := range rounds {
			add(quantity{Column: q.Column, Shift: q.Shift, Multiple: m})
		}
	}
	for i := range rows {
		t.values = append(t.values, column(len(seen), func(k int) int64 { return seen[k][i] }))
	}
	return t
}

// shifted returns a call's column as a shifted loader column, if one differs from it by the same number in all steps,
// because later data is known only for the loader's columns.
func (t *table) shifted(name string) quantity {
	if strings.HasPrefix(name, fromData) {
		return quantity{Column: name}
	}
	for _, other := range t.names() {
		shift := t.rows[0][name] - t.rows[0][other]
		same := strings.HasPrefix(other, fromData) && t.changes(other)
		for _, row := range t.rows {
			same = same && row[name]-row[other] == shift
		}
		if same {
			return quantity{Column: other, Shift: shift}
		}
	}
	return quantity{Column: name}
}

// changes reports whether a column differs between steps.
func (t *table) changes(name string) bool {
	return slices.ContainsFunc(t.rows, func(row map[string]int64) bool { return row[name] != t.rows[0][name] })
}

// batchAmong returns the index of the quantity that is the number of samples, or -1.
func batchAmong(names []string) int {
	if len(names) == 1 {
		return 0
	}
	return slices.Index(names, "batch")
}

func column(n int, at func(i int) int64) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = at(i)
	}
	return out
}

// names returns the columns that every step has. The loader's columns come first, because they are also known beyond
// the recorded steps; dimensions come before tensor contents.
func (t *table) names() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(t.rows[0])) {
		if !slices.ContainsFunc(t.rows, func(row map[string]int64) bool { _, ok := row[name]; return !ok }) {
			out = append(out, name)
		}
	}
	rank := func(name string) int {
		n := 0
		if !strings.HasPrefix(name, fromData) {
			n++
		}
		if strings.HasSuffix(name, ".sum") || strings.HasSuffix(name, ".most") {
			n += 2
		}
		return n
	}
	slices.SortStableFunc(out, func(a, b string) int { return rank(a) - rank(b) })
	return out
}

// varies reports whether any recording has a step that differs from its others.
func varies(steps [][]map[string]int64) bool {
	for _, recording := range steps {
		for _, s := range recording {
			for name, v := range s {
				if was, ok := recording[0][name]; ok && isDimension(name) && was != v {
					return true
				}
			}
		}
	}
	return false
}

// isDimension reports whether a column is a dimension of a shape, not the contents of a tensor. Labels, for example,
// differ in every step without affecting memory.
func isDimension(name string) bool {
	return !strings.HasSuffix(name, ".sum") && !strings.HasSuffix(name, ".most")
}
