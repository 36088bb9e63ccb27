// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"snug/internal/units"
)

// spec is a row of the catalog, in the units used in data sheets. The rows are in catalog_*.go; find.go matches
// names as people write them.
type spec struct {
	name      string
	memory    int    // nominal GB
	usable    usable // memory available to a process
	arch      string
	sms       int
	bandwidth float64 // GB/s
	rates     tera
	also      string // other names, separated by |
}

// tera are rates in 10^12 operations per second: fp32, tf32, fp16, bf16, fp8.
type tera [5]float64

// usable is the part of a card's memory that a process can use.
type usable struct {
	bytes uint64
	seen  bool
}

// seen returns a total that PyTorch printed on the card ("total capacity of 23.51 GiB"), the lowest if drivers
// differ.
func seen(gib float64) usable { return usable{uint64(gib * units.GiB), true} }

// exact returns a total read to the byte.
func exact(bytes uint64) usable { return usable{bytes, true} }

// fromSMI returns a total estimated from the one that nvidia-smi shows: the driver reserves 384 MiB and half a
// percent. On cards where both totals are known, it reserves between 290 MiB (V100) and 880 MiB (A100 80GB); the
// estimate is within 1.5 % of the real total, and usually below it.
func fromSMI(mib uint64) usable {
	return usable{(mib - 384 - mib/200) * units.MiB, false}
}

// fromAMD returns the estimated total for an AMD card: the driver reserves 16 MiB.
func fromAMD(gib uint64) usable { return usable{gib*units.GiB - 16*units.MiB, false} }

// The generations differ in how fast their tensor cores are relative to fp32. The ratios are from the architecture
// white papers (GA102, AD102, GB202): on GeForce cards, fp32 accumulation runs at half the speed of the same chip on
// professional cards.
func turingPro(f float64) tera     { return tera{f, 0, 8 * f, 0, 0} }
func turingGeForce(f float64) tera { return tera{f, 0, 4 * f, 0, 0} }
func amperePro(f float64) tera     { return tera{f, 2 * f, 4 * f, 4 * f, 0} }
func ampereGeForce(f float64) tera { return tera{f, f, 2 * f, 2 * f, 0} }
func adaPro(f float64) tera        { return tera{f, 2 * f, 4 * f, 4 * f, 8 * f} }
func adaGeForce(f float64) tera    { return tera{f, f, 2 * f, 2 * f, 4 * f} }

// entry is a card and the words of its names.
type entry struct {
	Card
	names [][]string // words of its name, then of its other names
}

// catalog returns every card, in listing order.
var catalog = sync.OnceValue(func() []entry {
	return slices.Concat(
		entries(NVIDIA, datacenter), entries(NVIDIA, professional), withoutPeers(entries(NVIDIA, geforce)), entries(AMD, instinct))
})

func entries(maker Maker, specs []spec) []entry {
	out := make([]entry, 0, len(specs))
	for _, s := range specs {
		e := entry{Card: s.card(maker), names: [][]string{words(s.name)}}
		for other := range strings.SplitSeq(s.also, "|") {
			if other != "" {
				e.names = append(e.names, words(other))
			}
		}
		out = append(out, e)
	}
	return out
}

func (s spec) card(maker Maker) Card {
	const t = 1e12
	c := Card{
		Name: s.name, Maker: maker, Memory: s.memory, Total: s.usable.bytes, Seen: s.usable.seen,
		Arch: s.arch, SMs: s.sms, Bandwidth: s.bandwidth * 1e9,
		Rates: Rates{s.rates[0] * t, s.rates[1] * t, s.rates[2] * t, s.rates[3] * t, s.rates[4] * t},
	}
	if digits, ok := strings.CutPrefix(s.arch, "sm_"); ok {
		c.Capability, _ = strconv.Atoi(digits)
	}
	c.Link, c.Network = s.link(c), network(c)
	c.Outside = outside(c.Capability)
	c.Measured = s.name == "H200"
	return c
}

// Cards returns the catalog.
func Cards() []Card {
	out := make([]Card, len(catalog()))
	for i, e := range catalog() {
		out[i] = e.Card
	}
	return out
}
