// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strconv"

	"snug/internal/gpu"
	"snug/internal/units"
)

// A card comes from the catalog, or only its memory is known, or it is a catalog card with different
// memory: --gpu L4 --gpu-memory 30 is like an L4 in everything but memory.

// called returns the name of a card within a sentence.
func called(c gpu.Card) string {
	switch {
	case c.Least:
		return fmt.Sprintf("%s %d GB card", article(c.Memory), c.Memory)
	case c.Unnamed:
		return units.Bytes(c.Total).String()
	case c.Resized:
		return fmt.Sprintf("a card like %s with %v", c.Name, units.Bytes(c.Total))
	}
	return c.Name
}

// article returns the article before a number of GB: an 80 GB card.
func article(gb int) string {
	if text := strconv.Itoa(gb); text[0] == '8' || text == "11" || text == "18" {
		return "an"
	}
	return "a"
}

// soldNote returns a note that cards sold with the same number of GB differ in available memory, if only that number is
// known.
func soldNote(card gpu.Card) []string {
	if !card.Least {
		return nil
	}
	alike := gpu.SoldAlike(card.Memory)
	if len(alike) == 0 {
		return nil
	}
	least, most := alike[0], alike[len(alike)-1]
	if most.Total-least.Total < least.Total/100 {
		return nil
	}
	return []string{fmt.Sprintf("cards sold with %d GB differ: %s has %v, %s %v; the lowest is used, so name yours with --gpu", card.Memory, least.Name, units.Bytes(least.Total), most.Name, units.Bytes(most.Total))}
}
