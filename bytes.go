// SPDX-License-Identifier: Apache-2.0

package snug

import (
	"encoding/json"
	"fmt"

	"snug/internal/units"
)

// Bytes is an amount of memory. It prints with a unit, such as "7.43 GiB", and is an integer in JSON.
type Bytes uint64

// Multiples of a byte, as in 24*snug.GiB.
const (
	KiB Bytes = 1 << 10 // 1024 bytes
	MiB Bytes = 1 << 20 // 1024 KiB
	GiB Bytes = 1 << 30 // 1024 MiB
)

// String returns the amount with a binary unit: "512 B", "20.0 MiB", "7.43 GiB".
func (b Bytes) String() string { return units.Bytes(b).String() }

// UnmarshalJSON reads an integer, or text with a unit such as "24GiB" or "24GB".
func (b *Bytes) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		return json.Unmarshal(data, (*uint64)(b))
	}
	size, err := units.ParseLimit(text)
	if err != nil {
		return fmt.Errorf("reading a size: %w", err)
	}
	*b = Bytes(size)
	return nil
}
