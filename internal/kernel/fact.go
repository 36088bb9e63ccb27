// SPDX-License-Identifier: Apache-2.0

package kernel

// What is known where.
//
// A rule that was read in the sources of PyTorch or bitsandbytes holds on every card
// that they were written for, and says itself which versions differ. A rule that was
// measured, because nothing but the library knows, holds on the kind of card and with
// the version that it was measured on: an H200 with PyTorch 2.11 (CUDA 13.0, cuDNN
// 9.19). Elsewhere its figure is the best guess, and it comes with the ends between
// which it lies whatever the library does there. How far apart those are says how
// much the gap can matter.

// Fact is something that is known of some cards and versions only.
type Fact uint8

// The facts. None is none of them: a rule that holds everywhere.
const (
	None               Fact = iota // everything is known
	Convolutions                   // what cuDNN takes for them
	CudnnAttention                 // what its attention takes
	EfficientAttention             // which tiles the memory-efficient kernel has
	Sorting                        // how many items a block of CUB's sorts and scans
	NormSums                       // when norms' gradients are summed in two passes
	Products                       // what the library for matrix products keeps
	Facts                          // how many there are
)

var factNames = [...]string{"", "convolutions", "attention by cuDNN", "memory-efficient attention", "sorts and scans", "gradients of norms", "matrix products"}

func (f Fact) String() string { return factNames[f] }

// Known tells whether a fact is known of this card and these versions.
func (r Rules) Known(f Fact) bool {
	switch {
	case f == None:
		return true
	case r.Unnamed, r.Foreign:
		return false
	}
	switch f {
	case Products:
		return true // CublasHandlePool.cpp, 2.1 to 2.12
	case NormSums:
		return r.Torch == measuredTorch
	case Convolutions: // heuristics count multiprocessors too
		return r.Torch == measuredTorch && r.Capability == measuredCapability && r.SMs == measuredSMs
	}
	return r.Torch == measuredTorch && r.Capability == measuredCapability
}

// Where what is not read in sources was measured.
const (
	measuredTorch      = 211
	measuredCapability = 90
	measuredSMs        = 132
)

// Figure is what a rule gives: bytes, or how many there are of something. Where it
// is not known of the card, Least and Most are its ends, and Lacks is what would have
// to be known.
type Figure struct {
	N           uint64 // the best guess
	Least, Most uint64 // the bounds
	Lacks       Fact   // the fact that is not known; None where the figure is exact
}

// sure is a figure that holds everywhere.
func sure(n uint64) Figure { return Figure{N: n, Least: n, Most: n} }

// between is a figure that follows from a fact, with its ends where that is not known.
func (r Rules) between(f Fact, n, least, most uint64) Figure {
	if r.Known(f) {
		return sure(n)
	}
	return Figure{N: n, Least: min(least, n), Most: max(most, n), Lacks: f}
}

// Times is so many of a figure.
func (f Figure) Times(n uint64) Figure {
	return Figure{N: n * f.N, Least: n * f.Least, Most: n * f.Most, Lacks: f.Lacks}
}

// Open is how far apart its ends are.
func (f Figure) Open() uint64 { return f.Most - f.Least }

// Side is which figure to go by.
type Side uint8

// The sides.
const (
	Likely Side = iota // the best guess
	Least              // the lower bound
	Most               // the upper bound
)

// On is the figure on one side.
func (f Figure) On(s Side) uint64 {
	switch s {
	case Least:
		return f.Least
	case Most:
		return f.Most
	}
	return f.N
}
