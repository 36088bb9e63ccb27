// SPDX-License-Identifier: Apache-2.0

package kernel

// What is known for which card.
//
// A rule taken from the sources of PyTorch or bitsandbytes holds on every card that they support; its comment
// states which versions differ. A rule that was measured, because the library is closed, holds for the measured
// kind of card and version: an H200 with PyTorch 2.11 (CUDA 13.0, cuDNN 9.19). On other cards and versions its
// figure is a best guess, with bounds that hold whatever the library does. The distance between the bounds shows
// how much the missing fact can matter.

// Fact is something known only for some cards and versions.
type Fact uint8

// The facts. None means that a rule holds everywhere.
const (
	None               Fact = iota // everything is known
	Convolutions                   // cuDNN's workspaces for convolutions
	CudnnAttention                 // the memory of cuDNN's attention
	EfficientAttention             // the tiles of the memory-efficient kernel
	Sorting                        // how many items one block of CUB's sorts and scans processes
	NormSums                       // when the gradients of norms are summed in two passes
	Products                       // memory kept by the matrix product library
	Recurrences                    // cuDNN's memory for recurrent layers
	Facts                          // the number of facts
)

var factNames = [...]string{"", "convolutions", "cuDNN attention", "memory-efficient attention", "sorts and scans", "gradients of norms", "matrix products", "recurrent layers"}

// String describes the fact for users.
func (f Fact) String() string { return factNames[f] }

// Known reports whether a fact is known for this card and these versions.
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
	case Convolutions: // cuDNN's heuristics also depend on the number of multiprocessors
		return r.Torch == measuredTorch && r.Capability == measuredCapability && r.SMs == measuredSMs
	}
	return r.Torch == measuredTorch && r.Capability == measuredCapability
}

// The card and version on which rules were measured.
const (
	measuredTorch      = 211
	measuredCapability = 90
	measuredSMs        = 132
)

// Figure is the result of a rule, in bytes or another unit. If it is not known for the card, Least and Most are
// its bounds, and Lacks is the missing fact.
type Figure struct {
	N           uint64 // the best guess
	Least, Most uint64 // the bounds
	Lacks       Fact   // the unknown fact; None if the figure is exact
}

// exactly returns a figure that is valid on every card.
func exactly(n uint64) Figure { return Figure{N: n, Least: n, Most: n} }

// between returns a figure that depends on a fact, with bounds if the fact is unknown.
func (r Rules) between(f Fact, n, least, most uint64) Figure {
	if r.Known(f) {
		return exactly(n)
	}
	return Figure{N: n, Least: min(least, n), Most: max(most, n), Lacks: f}
}

// Times multiplies a figure by n.
func (f Figure) Times(n uint64) Figure {
	return Figure{N: n * f.N, Least: n * f.Least, Most: n * f.Most, Lacks: f.Lacks}
}

// Open returns the distance between the bounds.
func (f Figure) Open() uint64 { return f.Most - f.Least }

// Side selects which of a Figure's numbers to use.
type Side uint8

// The sides.
const (
	Likely Side = iota // the best guess
	Least              // the lower bound
	Most               // the upper bound
)

// On returns the number selected by s.
func (f Figure) On(s Side) uint64 {
	switch s {
	case Least:
		return f.Least
	case Most:
		return f.Most
	}
	return f.N
}
