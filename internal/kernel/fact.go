// SPDX-License-Identifier: Apache-2.0

package kernel

// What is known for which card.
//
// A rule that was read in the sources of PyTorch or bitsandbytes holds on every card that they support,
// and states the versions that differ. A rule that was measured, because the library is closed, holds for
// the kind of card and the version of the measurement: an H200 with PyTorch 2.11 (CUDA 13.0, cuDNN 9.19).
// Elsewhere its figure is the best guess, with bounds that hold whatever the library does there. The
// distance between the bounds is how much the missing fact can matter.

// Fact is something that is known only for some cards and versions.
type Fact uint8

// The facts. None is for a rule that holds everywhere.
const (
	None               Fact = iota // everything is known
	Convolutions                   // cuDNN's workspaces for them
	CudnnAttention                 // the memory of its attention
	EfficientAttention             // which tiles the memory-efficient kernel has
	Sorting                        // how many items a block of CUB's sorts and scans
	NormSums                       // when norms' gradients are summed in two passes
	Products                       // memory that the library for matrix products keeps
	Recurrences                    // cuDNN's memory for recurrent layers
	Facts                          // the number of facts
)

var factNames = [...]string{"", "convolutions", "cuDNN attention", "memory-efficient attention", "sorts and scans", "gradients of norms", "matrix products", "recurrent layers"}

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
	case Convolutions: // cuDNN's heuristics depend on the number of multiprocessors too
		return r.Torch == measuredTorch && r.Capability == measuredCapability && r.SMs == measuredSMs
	}
	return r.Torch == measuredTorch && r.Capability == measuredCapability
}

// The card and version that the measured rules were measured on.
const (
	measuredTorch      = 211
	measuredCapability = 90
	measuredSMs        = 132
)

// Figure is the result of a rule: a number of bytes or of something else. If it is not known for the
// card, Least and Most are its bounds, and Lacks is the missing fact.
type Figure struct {
	N           uint64 // the best guess
	Least, Most uint64 // the bounds
	Lacks       Fact   // the fact that is not known; None if the figure is exact
}

// exactly returns a figure that holds everywhere.
func exactly(n uint64) Figure { return Figure{N: n, Least: n, Most: n} }

// between returns a figure that follows from a fact, with bounds if the fact is not known.
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

// Side selects the figure to use.
type Side uint8

// The sides.
const (
	Likely Side = iota // the best guess
	Least              // the lower bound
	Most               // the upper bound
)

// On returns the figure on one side.
func (f Figure) On(s Side) uint64 {
	switch s {
	case Least:
		return f.Least
	case Most:
		return f.Most
	}
	return f.N
}
