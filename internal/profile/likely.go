// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"fmt"
	"math"
	"strings"
)

// A formula can be found for any two sizes, even if there was a mistake: a script that ignores its batch, files with
// swapped or wrong sizes, runs that differ in something else. Some mistakes can be detected from how the sizes
// change.

// change summarizes how the allocations of one recording differ from those of a smaller one, in bytes of the larger.
type change struct {
	all           uint64
	grown, shrunk uint64 // bytes that grew, and bytes that shrank, the latter measured in the smaller recording
	kept          uint64 // grown tensors that lived while others were allocated
	faster        uint64 // part of kept that grew faster than the quantity, but not as its square or cube
	squares       uint64 // part of kept that grew as the square or cube of the quantity
}

// likely returns an error for two recordings whose stated sizes are probably wrong, and adds warnings for other
// anomalies. Quadratic growth is unusual only in the batch: attention grows quadratically with the sequence length,
// and images with their side length.
func (f *fitter) likely(from, to int, pairs []int32) error {
	name, ratio := f.grew(from, to)
	if ratio == 0 {
		return nil
	}
	c := f.change(from, to, pairs, ratio)
	small, large := f.inputs[from], f.inputs[to]
	varied := strings.Join(f.program.Names, " and ")
	warn := func(format string, args ...any) {
		f.program.Warnings = append(f.program.Warnings, fmt.Sprintf("from %s to %s ", small.At, large.At)+fmt.Sprintf(format, args...))
	}
	switch {
	case c.grown+c.shrunk <= c.all/1000:
		return fmt.Errorf("%s and %s allocate the same, although %s varies: does the program use it, and are these the right recordings?",
			small.Name, large.Name, varied)
	case c.shrunk > c.grown:
		return fmt.Errorf("%s has a larger %s than %s but allocates less: are the sizes swapped?", large.Name, varied, small.Name)
	case name != "" && c.faster > c.kept/2:
		return fmt.Errorf("from %s to %s most tensors grow faster than %s, but not as its square: are the sizes right, and is everything else the same?",
			small.Name, large.Name, name)
	case name == "batch" && c.squares > c.kept/2:
		warn("most tensors grow with the square of batch: if samples do not interact, something else changed too (sequence length, image size)")
	case c.grown < c.all/50:
		warn("only %.1f %% of the allocations grew: are the sizes right?", 100*float64(c.grown)/float64(c.all))
	case c.shrunk > c.grown/50:
		warn("some tensors became smaller: do the runs differ only in %s?", varied)
	}
	return nil
}

// grew returns the factor by which all quantities together grew from one recording to another; 0 if any decreased.
// name is the quantity's name if only one grew.
func (f *fitter) grew(from, to int) (name string, ratio float64) {
	ratio = 1
	count := 0
	for i, a := range f.points[from] {
		b := f.points[to][i]
		if b < a {
			return "", 0
		}
		if b > a {
			count++
			name = f.program.Names[i]
		}
		ratio *= float64(b) / float64(a)
	}
	if count != 1 {
		name = ""
	}
	return name, ratio
}

func (f *fitter) change(from, to int, pairs []int32, ratio float64) (c change) {
	for j, i := range pairs {
		l := f.lives[to][j]
		size := min(l.size, maxBytes)
		c.all += size
		if i == none {
			continue
		}
		was := min(f.lives[from][i].size, maxBytes)
		switch {
		case size < was:
			c.shrunk += was
		case size > was:
			c.grown += size
			if l.span > 0 && was > 0 {
				c.count(size, float64(size)/float64(was), ratio)
			}
		}
	}
	return c
}

// count adds a tensor that has grown.
func (c *change) count(size uint64, by, ratio float64) {
	about := func(a, b float64) bool { return math.Abs(a-b) <= 0.02*b }
	c.kept += size
	switch {
	case about(by, ratio*ratio) || about(by, ratio*ratio*ratio):
		c.squares += size
	case by > 1.02*ratio:
		c.faster += size
	}
}
