// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"fmt"
	"slices"

	"snug/internal/kernel"
	"snug/internal/snapshot"
)

// Input is a recording with its size.
type Input struct {
	Name      string              // file name, for messages
	At        Point               // the size of the recorded run
	Card      string              // the card of the recording, as the driver or the catalog names it; "" if unknown
	Recording *snapshot.Recording // the snapshot
}

// fitter makes a program from recordings.
type fitter struct {
	inputs  []Input // smallest first
	devices []*snapshot.Device
	points  [][]int64
	lives   [][]lifetime
	pairs   [][][]int32 // [to][from]: for each allocation in recording to, its counterpart in recording from
	solver  *solver
	program *Program
	rules   kernel.Rules        // for the card of the recordings
	index   map[string]uint32   // formula indices, by text
	known   map[*formula]uint32 // formula indices, by address
	convs   map[convKey]kernel.ConvWorkspace
	sizes   map[kernel.ConvSizes][]kernel.ConvShape
	near    map[string]kernel.ConvWorkspace
	strange bool // fit as if no convolution had been measured
}

// Fit makes a program from two or more recordings of the same training step.
func Fit(inputs []Input) (*Program, error) { return newFitter(inputs).fit() }

// FitUnmeasured fits as if none of the convolutions had been measured. It shows how good predictions are for a new
// kind of network.
func FitUnmeasured(inputs []Input) (*Program, error) {
	f := newFitter(inputs)
	f.strange = true
	return f.fit()
}

func newFitter(inputs []Input) *fitter {
	return &fitter{
		inputs: slices.Clone(inputs), index: map[string]uint32{}, known: map[*formula]uint32{},
		convs: map[convKey]kernel.ConvWorkspace{}, sizes: map[kernel.ConvSizes][]kernel.ConvShape{},
		near: map[string]kernel.ConvWorkspace{}, program: &Program{},
	}
}

func (f *fitter) fit() (*Program, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	f.arrange()
	if r := f.ragged(); r != nil {
		r.fit()
		return f.program, nil
	}
	if err := f.align(); err != nil {
		return nil, err
	}
	f.solver, f.rules = newSolver(f.program.monos, f.points), f.program.rules()
	for k := range f.inputs {
		f.write(k)
	}
	f.program.close()
	return f.program, nil
}

// arrange sorts the recordings by size and lists their allocations.
func (f *fitter) arrange() {
	p := f.program
	slices.SortStableFunc(f.inputs, func(a, b Input) int {
		return slices.Compare(a.At.values(p.Names), b.At.values(p.Names))
	})
	for _, in := range f.inputs {
		d := in.Recording.Busiest()
		f.devices = append(f.devices, d)
		f.points = append(f.points, in.At.values(p.Names))
		f.lives = append(f.lives, lifetimes(in.Recording, d))
	}
	p.monos = monomials(len(p.Names))
}

// align aligns every recording with every other.
func (f *fitter) align() error {
	f.pairs = make([][][]int32, len(f.inputs))
	for k := range f.pairs {
		f.pairs[k] = make([][]int32, len(f.inputs))
	}
	for to := range f.inputs {
		for from := range to {
			a, b := f.lives[from], f.lives[to]
			if !shareStacks(a, b) {
				a, b = withoutStacks(a), withoutStacks(b)
			}
			pairs := align(a, b, f.ratios(from, to))
			if err := f.sameProgram(from, to, pairs); err != nil {
				return err
			}
			if err := f.likely(from, to, pairs); err != nil {
				return err
			}
			f.pairs[to][from] = pairs
			f.pairs[from][to] = inverse(pairs, len(f.lives[from]))
		}
	}
	return nil
}

// ratios lists the possible ratios of sizes between two recordings, by monomial.
func (f *fitter) ratios(from, to int) []ratio {
	var out []ratio
	for _, m := range f.program.monos[1:] {
		out = append(out, ratio{uint64(m.exact(f.points[to])), uint64(m.exact(f.points[from]))})
	}
	return out
}

func inverse(pairs []int32, n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = none
	}
	for j, i := range pairs {
		if i != none {
			out[i] = int32(j)
		}
	}
	return out
}

// sameProgram returns an error for recordings that have little in common. It compares bytes, because two programs
// that use the same library share many small allocations.
func (f *fitter) sameProgram(from, to int, pairs []int32) error {
	var all, paired uint64
	for j, i := range pairs {
		size := min(f.lives[to][j].size, maxBytes)
		all += size
		if i != none {
			paired += size
		}
	}
	if paired*2 >= all {
		return nil
	}
	return fmt.Errorf("%s and %s do not look like the same program: only %d %% of their allocations match",
		f.inputs[from].Name, f.inputs[to].Name, paired*100/all)
}

// observations returns the sizes of an allocation of recording k and its counterparts, in the order of the
// recordings.
func (f *fitter) observations(k int, id uint32) []observation {
	obs := make([]observation, 0, len(f.inputs))
	for from := range f.inputs {
		if from == k {
			obs = append(obs, observation{k, f.lives[k][id].size})
		} else if i := f.pairs[k][from][id]; i != none {
			obs = append(obs, observation{from, f.lives[from][i].size})
		}
	}
	return obs
}

// intern returns the index of a formula. Equal formulas share an index.
func (f *fitter) intern(x *formula) uint32 {
	if i, ok := f.known[x]; ok {
		return i
	}
	key := fmt.Sprint(x.certainty, x.terms, x.most, x.seen)
	if x.sum != nil {
		key += fmt.Sprint(*x.sum)
	}
	if x.measured != nil {
		key += fmt.Sprint(*x.measured)
	}
	i, ok := f.index[key]
	if !ok {
		i = uint32(len(f.program.formulas))
		f.program.formulas = append(f.program.formulas, *x)
		f.index[key] = i
	}
	f.known[x] = i
	return i
}
