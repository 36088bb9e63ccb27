// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"snug/internal/gpu"
	"snug/internal/units"
)

// A card is one of the catalogue, one of which only the memory is known, or one of
// the catalogue with another memory: --gpu L4 --gpu-memory 30 is no L4, but a card
// that is like it in all else.

// room is the memory of a card and whose it is: of 23.51 GiB on RTX-4090.
func room(c gpu.Card) string {
	size := units.Bytes(c.Total)
	switch {
	case c.Unnamed:
		return fmt.Sprintf("of %v", size)
	case c.Resized:
		return fmt.Sprintf("of %v on a card like %s", size, c.Name)
	}
	return fmt.Sprintf("of %v on %s", size, c.Name)
}

// called is a card in a sentence: what fits it.
func called(c gpu.Card) string {
	switch {
	case c.Unnamed:
		return units.Bytes(c.Total).String()
	case c.Resized:
		return fmt.Sprintf("a card like %s with %v", c.Name, units.Bytes(c.Total))
	}
	return c.Name
}
