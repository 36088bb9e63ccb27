// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"fmt"
	"math"
	"slices"

	"snug/internal/stream"
)

// values returns a point's values in the order of the program's quantities, or an error if they do not match.
func (p *Program) values(at Point) ([]int64, error) {
	for _, name := range at.Names() {
		if v, fixed := p.Fixed[name]; fixed && at[name] != v {
			return nil, fmt.Errorf("%s is %d in every recording, so %s=%d cannot be predicted: record a run with another %s", name, v, name, at[name], name)
		} else if !fixed && !slices.Contains(p.Names, name) {
			return nil, fmt.Errorf("%s is not a quantity of these recordings, which vary %s", name, list(p.Names))
		}
	}
	for _, name := range p.Names {
		if _, ok := at[name]; !ok {
			return nil, fmt.Errorf("%s has no value for %s", at, name)
		}
	}
	return at.values(p.Names), nil
}

// nearest returns the variant whose size is nearest by ratio; of two equally near, the larger.
func (p *Program) nearest(values []int64) *variant {
	best, least := 0, math.Inf(1)
	for i := range p.variants {
		far := 0.0
		for k, v := range p.variants[i].at {
			far += math.Abs(math.Log(float64(values[k]) / float64(v)))
		}
		if far <= least {
			best, least = i, far
		}
	}
	return &p.variants[best]
}

// Trace returns the stream of the recorded steps at another size.
func (p *Program) Trace(at Point) (*stream.Trace, error) {
	values, err := p.values(at)
	if err != nil {
		return nil, err
	}
	if p.ragged != nil {
		run, err := p.raggedRun(values, at)
		if err != nil {
			return nil, err
		}
		return run.Trace, nil
	}
	v := p.nearest(values)
	return p.trace(v, whole{events: v.events, made: v.made}, values, at)
}

func (p *Program) trace(v *variant, w whole, values []int64, at Point) (*stream.Trace, error) {
	sizes, err := p.sizes(values)
	if err != nil {
		return nil, fmt.Errorf("%s would need %w", at, err)
	}
	t := stream.New(w.length())
	t.Queues = v.queues
	t.Reserve(v.before)
	ids := make([]uint32, w.made) // ID in the new trace plus one; 0 if not yet allocated
	for id := range v.before {
		ids[id] = id + 1
	}
	for offset, events := range w.parts() {
		for i := range events {
			switch e := &events[i]; {
			case e.kind == stream.Alloc:
				if size := sizes[e.formula]; size > 0 {
					ids[e.id+offset] = t.Alloc(size, e.queue) + 1
				}
			case e.kind == stream.EmptyCache || e.kind == stream.Mark:
				t.Add(e.kind, e.id, e.queue)
			case ids[e.id+offset] > 0:
				t.Add(e.kind, ids[e.id+offset]-1, e.queue)
			}
		}
	}
	return t, nil
}

// sizes returns the value of every formula.
func (p *Program) sizes(values []int64) ([]uint64, error) {
	monos, recording, on := p.at(values), p.recordedAt(values), p.rules()
	out := make([]uint64, len(p.formulas))
	for i := range p.formulas {
		var err error
		if out[i], err = p.formulas[i].bytes(on, monos, values, recording); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// at returns the values of the monomials.
func (p *Program) at(values []int64) []float64 {
	monos := make([]float64, len(p.monos))
	for i, m := range p.monos {
		monos[i] = m.at(values)
	}
	return monos
}

// recordedAt returns the recording made at these values, or none.
func (p *Program) recordedAt(values []int64) int {
	for i := range p.variants {
		if slices.Equal(p.variants[i].at, values) {
			return i
		}
	}
	return none
}
