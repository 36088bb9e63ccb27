// SPDX-License-Identifier: Apache-2.0

package snug

import (
	"errors"

	"snug/internal/gpu"
)

// Card is one model of GPU. The zero value is a card without an end; one that has
// nothing but a Total is like the card that the measurements were made on, an H200, in
// all else.
type Card struct {
	Name   string
	Maker  string // "NVIDIA" or "AMD"
	Memory int    // GB, as sold
	// Total is what cudaMemGetInfo reports; 0 is no end.
	Total Bytes
	// TotalSeen says that Total was read on such a card, not derived by a rule.
	TotalSeen bool
	// Outside is what a training process holds outside PyTorch's allocator: the CUDA
	// context and loaded kernels.
	Outside Bytes
	// OutsideMeasured says that Outside was measured on this card, not assumed from another.
	OutsideMeasured bool
	Arch            string  // "sm_90", "gfx942"
	Capability      int     // compute capability: 90 for sm_90, 0 for AMD
	SMs             int     // multiprocessors, or AMD's compute units
	Bandwidth       float64 // of its memory, in bytes a second
	Rates           Rates

	// Unnamed says that nothing is known but Total, Resized that Total is not that of
	// such cards but the caller's.
	Unnamed, Resized bool
}

// Rates are peak rates in operations a second, where a multiply-add is two: dense, with
// sums in float32. They are 0 where the card has no hardware for it.
type Rates struct {
	FP32 float64
	TF32 float64
	FP16 float64
	BF16 float64
	FP8  float64
}

// FindCard is the GPU of a name, as people write it ("rtx4090", "A100 40GB") or as a driver
// prints it ("NVIDIA A100-SXM4-80GB"). The error is [ErrUnknownCard]; it says which names
// are near, or that several cards share the name.
func FindCard(name string) (Card, error) {
	c, err := gpu.Find(name)
	var unknown *gpu.UnknownError
	if errors.As(err, &unknown) {
		return Card{}, &FieldError{Field: "card", Message: unknown.What, kind: ErrUnknownCard}
	}
	return cardOf(c), err
}

// CardWithMemory is a card of which only the memory is known.
func CardWithMemory(total Bytes) Card { return cardOf(gpu.ForMemory(uint64(total))) }

// WithTotal is the card with another amount of memory, such as a part of it that is shared.
func (c Card) WithTotal(total Bytes) Card {
	c.Resized = c.Resized || total != c.Total
	c.Total = total
	return c
}

// Cards is every GPU that has a name.
func Cards() []Card {
	var out []Card
	for _, c := range gpu.Cards() {
		out = append(out, cardOf(c))
	}
	return out
}
