// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"fmt"
	"math"
	"slices"

	"snug/internal/stream"
)

// values checks a point against the program's quantities.
func (p *Program) values(at Point) ([]int64, error) {
	for _, name := range at.Names() {
		if v, fixed := p.Fixed[name]; fixed && at[name] != v {
			return nil, fmt.Errorf("%s is %d in every recording, so nothing is known about %s=%d: record a run with another %s", name, v, name, at[name], name)
		} else if !fixed && !slices.Contains(p.Names, name) {
			return nil, fmt.Errorf("%s is not a quantity of these recordings, which vary %s", name, list(p.Names))
		}
	}
	for _, name := range p.Names {
		if _, ok := at[name]; !ok {
			return nil, fmt.Errorf("%s does not say what %s is", at, name)
		}
	}
	return at.values(p.Names), nil
}

// nearest is the variant whose size is nearest by ratio; the larger of two.
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

// Trace is the stream of the training step at a size.
func (p *Program) Trace(at Point) (*stream.Trace, error) {
	values, err := p.values(at)
	if err != nil {
		return nil, err
	}
	return p.trace(p.nearest(values), values, at)
}

func (p *Program) trace(v *variant, values []int64, at Point) (*stream.Trace, error) {
	sizes, err := p.sizes(values)
	if err != nil {
		return nil, fmt.Errorf("%s would need %w", at, err)
	}
	t := stream.New(len(v.events))
	t.Queues = v.queues
	t.Reserve(v.before)
	for i := range v.events {
		if e := &v.events[i]; e.kind == stream.Alloc {
			t.Alloc(sizes[e.formula], e.queue)
		} else {
			t.Add(e.kind, e.id, e.queue)
		}
	}
	return t, nil
}

// sizes evaluates every formula.
func (p *Program) sizes(values []int64) ([]uint64, error) {
	monos := make([]float64, len(p.monos))
	for i, m := range p.monos {
		monos[i] = m.at(values)
	}
	out := make([]uint64, len(p.formulas))
	for i := range p.formulas {
		var err error
		if out[i], err = p.formulas[i].bytes(monos); err != nil {
			return nil, err
		}
	}
	return out, nil
}
