// SPDX-License-Identifier: Apache-2.0

// Package gpu knows the cards: how much memory each leaves to a process, and
// what PyTorch asks of it.
package gpu

import (
	"fmt"
	"strings"

	"snug/internal/spelling"
	"snug/internal/units"
)

// Card is one model of GPU.
type Card struct {
	Name       string
	Total      uint64 // bytes, as cudaMemGetInfo reports them
	Outside    uint64 // what a training process holds outside PyTorch's allocator: context, kernels
	Measured   bool   // Outside was measured on this card, not assumed from another
	Capability int    // compute capability: 90 for sm_90
	SMs        int    // multiprocessors
}

// Reference is the card that the measurements were made on.
var Reference = Card{Name: "H200", Total: 150_110_011_392, Outside: 758 * units.MiB, Measured: true, Capability: 90, SMs: 132}

// gib makes a total from the GiB that PyTorch's messages show.
func gib(x float64) uint64 { return uint64(x * units.GiB) }

// assumed is a card whose memory outside PyTorch nobody measured here: the
// reference's for its own and later generations, less for older ones, whose
// kernels are smaller.
func assumed(name string, total float64, capability, sms int) Card {
	outside := uint64(Reference.Outside)
	if capability < Reference.Capability {
		outside = 520 * units.MiB
	}
	return Card{Name: name, Total: gib(total), Outside: outside, Capability: capability, SMs: sms}
}

// cards is the catalogue. Totals are those that PyTorch prints on the card
// ("total capacity of 79.10 GiB"), the lowest seen where drivers differ.
var cards = []Card{
	Reference,
	assumed("B200", 178.35, 100, 148),
	assumed("GH200", 94.50, 90, 132),
	assumed("H100-80GB", 79.10, 90, 132),
	assumed("H100-PCIe", 79.10, 90, 114),
	assumed("A100-80GB", 79.14, 80, 108),
	assumed("A100-40GB", 39.38, 80, 108),
	assumed("A40", 44.34, 86, 84),
	assumed("A30", 23.50, 80, 56),
	assumed("A10", 21.98, 86, 72),
	assumed("A10G", 21.98, 86, 80),
	assumed("L40S", 44.39, 89, 142),
	assumed("L40", 44.39, 89, 142),
	assumed("L4", 21.95, 89, 58),
	assumed("T4", 14.56, 75, 40),
	assumed("V100-32GB", 31.73, 70, 80),
	assumed("V100-16GB", 15.77, 70, 80),
	assumed("RTX-6000-Ada", 47.37, 89, 142),
	assumed("RTX-A6000", 47.40, 86, 84),
	assumed("RTX-5090", 31.34, 120, 170),
	assumed("RTX-4090", 23.51, 89, 128),
	assumed("RTX-4080", 15.58, 89, 76),
	assumed("RTX-3090", 23.56, 86, 82),
	assumed("RTX-3080", 9.64, 86, 68),
	assumed("RTX-3060", 11.63, 86, 28),
	assumed("RTX-2080-Ti", 10.57, 75, 68),
}

// Cards is the catalogue, largest makers' names first.
func Cards() []Card { return cards }

// Find is the card of that name. Case, spaces and makers' prefixes do not
// matter; a name that several cards share has to say which.
func Find(name string) (Card, error) {
	want, some := plain(name), []string(nil)
	var names []string
	for _, c := range cards {
		if plain(c.Name) == want {
			return c, nil
		}
		if want != "" && strings.HasPrefix(plain(c.Name), want) {
			some = append(some, c.Name)
		}
		names = append(names, c.Name)
	}
	if len(some) == 1 {
		return Find(some[0])
	}
	if len(some) > 1 {
		return Card{}, fmt.Errorf("GPU %q is one of several: %s", name, strings.Join(some, ", "))
	}
	return Card{}, fmt.Errorf("no such GPU as %q%s", name,
		spelling.Hint(name, names, "give --gpu-memory instead, or one of "+strings.Join(names, ", ")))
}

// plain is a name without what people leave out.
func plain(name string) string {
	s := strings.ToLower(name)
	for _, drop := range []string{"nvidia", "geforce", "tesla", "rtx", "-", "_", " "} {
		s = strings.ReplaceAll(s, drop, "")
	}
	return s
}

// Sized is a card of which only the memory is known.
func Sized(total uint64) Card {
	c := Reference
	c.Name, c.Total, c.Measured = units.Bytes(total).String()+" GPU", total, false
	return c
}
