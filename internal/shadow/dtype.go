// SPDX-License-Identifier: Apache-2.0

package shadow

import "snug/internal/kernel"

// DType is the type of a tensor's elements.
type DType uint8

// The element types used in training. None means "not given".
const (
	None     DType = iota // no type given
	Bool                  // 1 byte
	UInt8                 // 1 byte
	Int8                  // 1 byte
	Int16                 // 2 bytes
	UInt16                // 2 bytes
	Int32                 // 4 bytes
	Int64                 // 8 bytes
	Float16               // 2 bytes
	BFloat16              // 2 bytes
	Float32               // 4 bytes
	Float64               // 8 bytes
)

var dtypes = [...]struct {
	name  string
	bytes uint64
}{
	None: {"none", 0}, Bool: {"bool", 1}, UInt8: {"uint8", 1}, Int8: {"int8", 1},
	Int16: {"int16", 2}, UInt16: {"uint16", 2}, Int32: {"int32", 4}, Int64: {"int64", 8},
	Float16: {"float16", 2}, BFloat16: {"bfloat16", 2}, Float32: {"float32", 4}, Float64: {"float64", 8},
}

// String returns PyTorch's name of the type.
func (d DType) String() string { return dtypes[d].name }

// Bytes returns the size of one element.
func (d DType) Bytes() uint64 { return dtypes[d].bytes }

// Floating reports whether gradients can flow through elements of this type.
func (d DType) Floating() bool { return d >= Float16 }

// Half reports whether the type is one of the two 16-bit floats.
func (d DType) Half() bool { return d == Float16 || d == BFloat16 }

// Kernel returns the type in package kernel's terms. Every type except the 16-bit floats maps to float32.
func (d DType) Kernel() kernel.Type {
	switch d {
	case BFloat16:
		return kernel.BFloat16
	case Float16:
		return kernel.Float16
	}
	return kernel.Float32
}

// promote is torch.promote_types for the types above: the wider one wins. The two 16-bit floats promote to
// float32, because neither contains the other,
// and so do the two 8-bit integers to int16.
func promote(a, b DType) DType {
	if a.Half() && b.Half() && a != b {
		return Float32
	}
	if min(a, b) == UInt8 && max(a, b) == Int8 {
		return Int16
	}
	return max(a, b)
}
