// SPDX-License-Identifier: Apache-2.0

package tune

import (
	"fmt"
	"math/rand/v2"

	"snug/internal/setup"
)

// machine is a simulated GPU: the memory and speed of its variants, and inaccurate predictions.
type machine struct {
	limit    uint64
	target   int
	variants []variant
	noise    float64 // standard deviation of a measured speed
	random   *rand.Rand
}

// variant is a way to run. A forward pass takes a fixed time, and a time per sample. The samples beyond the knee take
// longer, by the factor slower.
type variant struct {
	name        string
	base, each  float64 // bytes
	fixed, per  float64 // seconds
	knee        int     // number of samples; 0 means no knee
	slower      float64
	offMemory   float64 // ratio of predicted to real memory
	offSpeed    float64 // ratio of predicted to real speed
	broken      bool    // every trial crashes
	unpredicted bool
	linear      bool // speeds are predicted as if a forward pass took no time per sample
	flat        bool // all batches are predicted to be equally fast, as from recordings at tiny batches
}

func (v variant) memory(batch int) float64 { return v.base + v.each*float64(batch) }

func (v variant) rate(batch int) float64 {
	b := float64(batch)
	seconds := v.fixed + v.per*b
	if v.knee > 0 && batch > v.knee {
		seconds = v.fixed + v.per*(float64(v.knee)+(b-float64(v.knee))*v.slower)
	}
	return b / seconds
}

// candidates returns every split of the target in every variant, and the index of the one that is predicted to be
// best.
func (m *machine) candidates() (out []Candidate, start int) {
	best := -1.0
	for _, v := range m.variants {
		for batch := 1; batch <= m.target; batch++ {
			if m.target%batch != 0 {
				continue
			}
			x := Candidate{
				Settings: setup.Assign("batch", batch).With("accumulation", m.target/batch), Variant: v.name,
				Batch: batch, Accumulation: m.target / batch, World: 1,
			}
			if v.name != "" {
				x.Settings = x.Settings.With("checkpointing", v.name)
			}
			if !v.unpredicted {
				x.Predicted, x.Expected = uint64(v.memory(batch)*v.offMemory), v.rate(batch)*v.offSpeed
				switch {
				case v.linear:
					x.Expected = v.rate(1) * float64(batch)
				case v.flat:
					x.Expected = v.rate(1)
				}
			}
			if x.Predicted <= m.limit && x.Expected > best {
				best, start = x.Expected, len(out)
			}
			out = append(out, x)
		}
	}
	return out, start
}

func (m *machine) variant(name string) variant {
	for _, v := range m.variants {
		if v.name == name {
			return v
		}
	}
	panic(fmt.Sprintf("no variant %q", name))
}

// run runs a trial.
func (m *machine) run(x Candidate) Result {
	v := m.variant(x.Variant)
	need := v.memory(x.Batch)
	switch {
	case v.broken:
		return Result{Outcome: Crashed, Why: "exit code 1"}
	case need > float64(m.limit):
		return Result{Outcome: OutOfMemory, Why: "it asked for 2.00 GiB"}
	}
	return Result{
		Outcome: Fits, Reserved: uint64(need), Lasting: uint64(v.base), Steps: 20,
		Rate: v.rate(x.Batch) * (1 + m.noise*m.random.NormFloat64()), Noise: m.noise,
	}
}

// best returns the speed of the fastest candidate that fits.
func (m *machine) best() float64 {
	most := 0.0
	all, _ := m.candidates()
	for _, x := range all {
		if v := m.variant(x.Variant); !v.broken && v.memory(x.Batch) <= float64(m.limit) {
			most = max(most, v.rate(x.Batch))
		}
	}
	return most
}

// climb runs a whole climb.
func (m *machine) climb(o Options) (*Climb, error) {
	all, start := m.candidates()
	o.Limit = m.limit
	c, err := New(all, start, o)
	if err != nil {
		return nil, err
	}
	for s := c.Next(); s.Next != nil; s = c.Next() {
		c.Record(*s.Next, m.run(*s.Next))
	}
	return c, nil
}
