// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"fmt"
	"math/bits"
	"strconv"

	"snug/internal/units"
)

func (p *parser) backend(key string) error {
	switch name := p.next(); name {
	case "native":
		return nil
	case "cudaMallocAsync":
		return fmt.Errorf("%s:%s: the driver then manages memory, which is not modeled; use native", key, name)
	default:
		return fmt.Errorf("%s:%s: must be native or cudaMallocAsync", key, name)
	}
}

// megabytes reads a size that must be at least a large segment; up to 2.9 it must be larger.
func (p *parser) megabytes(key string) (uint64, error) {
	mb, err := p.number(key)
	if err != nil {
		return 0, err
	}
	least := p.out.LargeSegment / units.MiB
	if mb < least || mb == least && !p.rules.splitMayEqualLarge {
		bound := "at least"
		if !p.rules.splitMayEqualLarge {
			bound = "greater than"
		}
		return 0, fmt.Errorf("%s:%d: must be %s %d in PyTorch %s", key, mb, bound, least, p.v)
	}
	return mb * units.MiB, nil
}

func (p *parser) maxSplit(key string) (err error) {
	p.out.MaxSplitSize, err = p.megabytes(key)
	return err
}

func (p *parser) nonSplitRounding(key string) (err error) {
	p.out.MaxNonSplitRounding, err = p.megabytes(key)
	return err
}

func (p *parser) threshold(key string) error {
	x, err := p.decimal(key)
	if err != nil {
		return err
	}
	if x <= 0 || x >= 1 {
		return fmt.Errorf("%s:%v: must be between 0 and 1, exclusive", key, x)
	}
	p.out.GCThreshold = x
	return nil
}

func (p *parser) fraction(key string) error {
	x, err := p.decimal(key)
	if err != nil {
		return err
	}
	if x < 0 || x > 1 {
		return fmt.Errorf("%s:%v: must be between 0 and 1", key, x)
	}
	p.out.Fraction, p.out.FractionSet = x, true
	return nil
}

// divisions reads one number for all sizes, or a list by size class.
func (p *parser) divisions(key string) error {
	if p.at < len(p.tokens) && p.tokens[p.at] == "[" {
		p.at++
		return p.divisionList(key)
	}
	n, err := p.number(key)
	if err != nil {
		return err
	}
	if !powerOfTwo(n) {
		return fmt.Errorf("%s:%d: must be a power of two", key, n)
	}
	fill(p.out.Divisions[:], n)
	return nil
}

// divisionList reads [256:1,512:2,>:8] up to its closing bracket. A key of K megabytes is the *lower* end of its
// class, [K, 2K), whatever the documentation suggests; the first key also applies to everything below it. Classes
// between two keys that are not adjacent stay unrounded.
func (p *parser) divisionList(key string) error {
	last, first := 0, true
	for p.at < len(p.tokens) && p.tokens[p.at] != "]" {
		class := p.next()
		if err := p.separator(key, ":"); err != nil {
			return err
		}
		n, err := p.number(key)
		if err != nil {
			return err
		}
		if n != 0 && !powerOfTwo(n) {
			return fmt.Errorf("%s: %s:%d: must be a power of two or 0", key, class, n)
		}
		if class == ">" {
			fill(p.out.Divisions[p.restFrom(last, first):], n)
		} else {
			if last, err = divisionClass(key, class); err != nil {
				return err
			}
			if first {
				fill(p.out.Divisions[:last], n)
			}
			p.out.Divisions[last], first = n, false
		}
		if p.at < len(p.tokens) && p.tokens[p.at] != "]" {
			if err := p.separator(key, ","); err != nil {
				return err
			}
		}
	}
	if p.at >= len(p.tokens) {
		return fmt.Errorf("allocator option %q: the list has no closing ]", key)
	}
	p.at++
	return nil
}

// restFrom returns the first class that ">" applies to.
func (p *parser) restFrom(last int, first bool) int {
	if p.rules.restStartsAfterLast && !first {
		return last + 1
	}
	return last
}

func divisionClass(key, text string) (int, error) {
	mb, err := strconv.ParseUint(text, 10, 40)
	if err != nil || !powerOfTwo(mb) {
		return 0, fmt.Errorf("%s: %q must be a power of two, in MB, or >", key, text)
	}
	return min(bits.Len64(mb)-1, divisionSlots-1), nil
}

func fill(to []uint64, n uint64) {
	for i := range to {
		to[i] = n
	}
}
