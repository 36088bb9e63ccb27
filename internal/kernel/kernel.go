// SPDX-License-Identifier: Apache-2.0

// Package kernel has the rules for the CUDA kernels that PyTorch runs: which kernel it chooses for a shape, and
// how many bytes of workspace the kernel needs. It computes numbers from numbers: it has no tensors, streams or
// recordings, and imports no other package of snug.
//
// Each file covers one kind of kernel. Its comment gives the source of the rules: most were taken from source code
// and hold on every card; others were measured on the card that the comment names (fact.go).
package kernel

// Rules holds what determines which kernels run: the card and the library versions.
type Rules struct {
	Torch        int // 211 for 2.11
	BitsAndBytes int // 50 for 0.50
	Capability   int // compute capability: 90 for sm_90
	SMs          int // multiprocessors

	Unnamed bool // the card was not named; the other fields are assumptions
	Foreign bool // not a CUDA card; the other fields are the nearest equivalents
	Standin bool // the stand-in for a GPU (testdata/standin), where convolutions need no workspace
}

// Type is the element type of a kernel, as far as it affects the choice of kernel.
type Type uint8

// The types.
const (
	Float32  Type = iota // float
	BFloat16             // bfloat16
	Float16              // half
)

var types = [...]struct {
	name  string
	bytes int
}{Float32: {"float32", 4}, BFloat16: {"bfloat16", 2}, Float16: {"float16", 2}}

// String returns the name of the type.
func (t Type) String() string { return types[t].name }

// Bytes returns the size of one number.
func (t Type) Bytes() int { return types[t].bytes }

// half reports whether the type has 16 bits.
func (t Type) half() bool { return t != Float32 }

// threadsPerSM returns the maximum number of threads on a multiprocessor.
func (r Rules) threadsPerSM() int {
	switch r.Capability {
	case 75:
		return 1024
	case 86, 87, 89, 120:
		return 1536
	}
	return 2048
}

// CeilDiv returns a / b, rounded up.
func CeilDiv(a, b int) int { return (a + b - 1) / b }
