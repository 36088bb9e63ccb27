// SPDX-License-Identifier: Apache-2.0

package profile

import "fmt"

// raggedHeader is the part of a file header that describes how steps differ. Files with it have format 4, which older
// versions of snug refuse; all others keep format 3.
type raggedHeader struct {
	Quantities []quantity       `json:"quantities"`
	Data       data             `json:"data"`
	Steps      [][][]int64      `json:"steps"`   // by variant, by step: the first event, then the quantities
	Carried    []map[uint32]int `json:"carried"` // by variant: ragged.carried
}

// raggedVersion is the format of files whose steps differ.
const raggedVersion = 4

func (rg *ragged) header() *raggedHeader {
	if rg == nil {
		return nil
	}
	h := &raggedHeader{Quantities: rg.quantities, Data: rg.data, Carried: rg.carried}
	for _, steps := range rg.steps {
		var out [][]int64
		for _, s := range steps {
			out = append(out, append([]int64{int64(s.begin)}, s.values...))
		}
		h.Steps = append(h.Steps, out)
	}
	return h
}

// version returns the format that a program is written in.
func (p *Program) version() byte {
	if p.ragged != nil {
		return raggedVersion
	}
	return fileVersion
}

// names returns the number of quantities of a step.
func (h *raggedHeader) names() int {
	if h == nil {
		return 0
	}
	return len(h.Quantities)
}

// ragged checks the header's contents against the variants of p and returns them.
func (h *raggedHeader) ragged(p *Program) (*ragged, error) {
	if h == nil {
		return nil, nil
	}
	rg := &ragged{quantities: h.Quantities, data: h.Data, carried: h.Carried}
	if err := h.checkData(p); err != nil {
		return nil, err
	}
	if len(h.Steps) != len(p.variants) || len(h.Carried) != len(p.variants) {
		return nil, fmt.Errorf("steps for %d recordings, but there are %d", len(h.Steps), len(p.variants))
	}
	for i, steps := range h.Steps {
		v := &p.variants[i]
		read, err := h.steps(steps, v)
		if err != nil {
			return nil, err
		}
		rg.steps = append(rg.steps, read)
		if err := h.checkCarried(h.Carried[i], v, read[len(read)-1].begin); err != nil {
			return nil, err
		}
	}
	return rg, nil
}

func (h *raggedHeader) checkData(p *Program) error {
	d := &h.Data
	switch {
	case d.Unit < 1 || d.Unit > maxQuantity, d.Batch < -1 || d.Batch >= len(p.Names):
		return fmt.Errorf("a unit has %d samples", d.Unit)
	case len(d.Units) == 0 || len(d.Units) > maxUnits:
		return fmt.Errorf("the data has %d units", len(d.Units))
	case len(d.Rules) != len(h.Quantities):
		return fmt.Errorf("%d rules for %d quantities", len(d.Rules), len(h.Quantities))
	}
	for _, q := range h.Quantities {
		if q.Multiple < 0 || q.Multiple > maxQuantity || q.Stride < 0 || q.Stride > maxQuantity || max(q.Shift, -q.Shift) > maxQuantity {
			return fmt.Errorf("a quantity %v", q)
		}
	}
	for _, u := range d.Units {
		if len(u) != len(h.Quantities) {
			return fmt.Errorf("a unit has %d quantities", len(u))
		}
		for _, v := range u {
			if v < 0 || v > maxQuantity {
				return fmt.Errorf("a quantity is %d", v)
			}
		}
	}
	return nil
}

func (h *raggedHeader) steps(steps [][]int64, v *variant) ([]recordedStep, error) {
	var out []recordedStep
	last := int64(0)
	for _, s := range steps {
		if len(s) != 1+len(h.Quantities) || s[0] < last || s[0] > int64(len(v.events)) {
			return nil, fmt.Errorf("a step begins outside the recording")
		}
		last = s[0]
		out = append(out, recordedStep{int(s[0]), s[1:]})
	}
	if len(out) < 2 {
		return nil, fmt.Errorf("%d steps", len(out))
	}
	return out, nil
}

// checkCarried returns an error if a carried-over allocation, or its counterpart in the last step, does not exist.
func (h *raggedHeader) checkCarried(carried map[uint32]int, v *variant, begin int) error {
	_, count := lastStep(v, begin)
	for id, j := range carried {
		if id >= v.made || j < 0 || j >= count {
			return fmt.Errorf("allocation %d of %d is carried over between steps", id, v.made)
		}
	}
	return nil
}
