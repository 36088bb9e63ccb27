// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"snug/internal/units"
)

// ForMemory returns a card for which only the memory is known. Its kernels, rates and memory outside PyTorch are
// the reference card's.
func ForMemory(total uint64) Card {
	c := Reference
	c.Name, c.Total, c.Memory = units.Bytes(total).String()+" GPU", total, int(total/units.GiB)
	c.Measured, c.Unnamed = false, true
	return c
}

// Sized returns a card for which only the memory is known, as parsed by ParseMemory.
func Sized(text string) (Card, error) {
	size, err := ParseMemory(text)
	if err != nil {
		return Card{}, err
	}
	c := ForMemory(size)
	if sold, err := strconv.Atoi(strings.TrimSpace(text)); err == nil && size != uint64(sold)*units.GiB {
		c.Memory, c.Least = sold, true
	}
	return c, nil
}

// maxSold is more than any card's nominal GB. A larger number without a unit probably means MiB.
const maxSold = 1024

// ParseMemory parses a card's memory. A bare number is the nominal GB, and means the least memory that cards of that
// size offer; 24GiB is 24 × 2^30 bytes, 24GB is 24 × 10^9.
func ParseMemory(text string) (uint64, error) {
	if sold, err := strconv.ParseUint(strings.TrimSpace(text), 10, 32); err == nil && sold > 0 {
		if sold > maxSold {
			return 0, fmt.Errorf("no card is sold with %d GB; if that is in MiB, write %dMiB", sold, sold)
		}
		return offered(int(sold)), nil
	}

	if rest, minus := strings.CutPrefix(strings.TrimSpace(text), "-"); minus {
		if _, err := units.Parse(rest, units.GiB); err == nil {
			return 0, fmt.Errorf("%q is negative; write a card's memory like 24, 24GiB or 24GB", text)
		}
	}
	size, err := units.Parse(text, units.GiB)
	switch {
	case err != nil:
		return 0, err
	case size == 0:
		return 0, errors.New("nothing fits into 0 bytes; write a card's memory like 24, 24GiB or 24GB")
	}
	return uint64(size), nil
}

// offered returns the least memory that cards with this nominal GB offer a process, or that many GiB if the catalog
// has no such card.
func offered(sold int) uint64 {
	least := uint64(0)
	for _, c := range Cards() {
		if c.Memory == sold && (least == 0 || c.Total < least) {
			least = c.Total
		}
	}
	if least == 0 {
		return uint64(sold) * units.GiB
	}
	return least
}

// SoldAlike returns the NVIDIA cards with the same nominal GB, sorted by the memory that they offer, the least first.
func SoldAlike(sold int) []Card {
	out := slices.DeleteFunc(Cards(), func(c Card) bool { return c.Memory != sold || c.Maker != NVIDIA })
	slices.SortStableFunc(out, func(a, b Card) int { return cmp.Compare(a.Total, b.Total) })
	return out
}
