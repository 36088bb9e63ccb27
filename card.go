// SPDX-License-Identifier: Apache-2.0

package snug

import (
	"errors"

	"snug/internal/gpu"
)

// Card is a GPU model. The zero value is an unlimited card. A card with only a Total behaves like an H200 with that
// much memory, the card that the measurements were made on.
type Card struct {
	Name   string // such as "RTX-4090"
	Maker  string // "NVIDIA" or "AMD"
	Memory int    // GB, as sold
	// Total is the memory that cudaMemGetInfo reports; 0 means unlimited.
	Total Bytes
	// TotalSeen is set if Total was read on a real card, not derived by a rule.
	TotalSeen bool
	// Outside is the memory that a training process uses outside PyTorch's allocator: the CUDA context and loaded
	// kernels.
	Outside Bytes
	// OutsideMeasured is set if Outside was measured on this kind of card, not assumed.
	OutsideMeasured bool
	Arch            string  // "sm_90", "gfx942"
	Capability      int     // compute capability: 90 for sm_90, 0 for AMD
	SMs             int     // multiprocessors, or AMD's compute units
	Bandwidth       float64 // memory bandwidth, in bytes per second
	Rates           Rates   // peak arithmetic rates, by type
	Link            float64 // bandwidth to another card in the same machine, in bytes per second in each direction; 0 means PCIe
	Network         float64 // bandwidth between machines, in bytes per second; 0 means as fast as PCIe

	// Unnamed is set if only Total is known, Least if Total is the smallest among all cards sold with Memory, and
	// Resized if the caller chose Total.
	Unnamed, Least, Resized bool
}

// Rates are peak rates for dense arithmetic with float32 accumulation, in operations per second; a multiply-add
// counts as two. A rate is 0 if the card has no hardware for it.
type Rates struct {
	FP32 float64 // on the plain cores
	TF32 float64 // float32 matrices on the tensor cores
	FP16 float64 // float16 matrices on the tensor cores
	BF16 float64 // bfloat16 matrices on the tensor cores
	FP8  float64 // 8-bit floats on the tensor cores
}

// FindCard returns the GPU with the given name, as people write it ("rtx4090", "A100 40GB") or as a
// driver prints it ("NVIDIA A100-SXM4-80GB"). The error is an [ErrUnknownCard]; it suggests
// similar names, or lists the cards that share the name.
func FindCard(name string) (Card, error) {
	c, err := gpu.Find(name)
	var unknown *gpu.UnknownError
	if errors.As(err, &unknown) {
		return Card{}, &FieldError{Field: "card", Message: unknown.What, kind: ErrUnknownCard}
	}
	return cardOf(c), err
}

// CardWithMemory returns a card that has only a memory size; everything else is assumed.
func CardWithMemory(total Bytes) Card { return cardOf(gpu.ForMemory(uint64(total))) }

// WithTotal returns the card with a different amount of memory, such as a slice of it.
func (c Card) WithTotal(total Bytes) Card {
	c.Resized = c.Resized || total != c.Total
	c.Total = total
	return c
}

// Cards returns all cards that [FindCard] knows.
func Cards() []Card {
	var out []Card
	for _, c := range gpu.Cards() {
		out = append(out, cardOf(c))
	}
	return out
}
