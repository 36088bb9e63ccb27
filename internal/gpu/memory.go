// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"errors"
	"fmt"
	"strings"

	"snug/internal/units"
)

// ForMemory returns a card of which only the memory is known. Everything else is the reference's: kernels
// are chosen and settings compared as on it, and its memory outside PyTorch is assumed.
func ForMemory(total uint64) Card {
	c := Reference
	c.Name, c.Total, c.Memory = units.Bytes(total).String()+" GPU", total, int(total/units.GiB)
	c.Measured, c.Unnamed = false, true
	return c
}

// ParseMemory returns a card's memory from text: 24 and 24GiB are 24 × 2^30 bytes, 24GB is
// 24 × 10^9.
func ParseMemory(text string) (uint64, error) {
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
