// SPDX-License-Identifier: Apache-2.0

// Package units formats and parses numbers of bytes. No other package does.
package units

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Binary multiples of a byte.
const (
	KiB = 1 << 10 // 1024 bytes
	MiB = 1 << 20 // 1024 KiB
	GiB = 1 << 30 // 1024 MiB
	TiB = 1 << 40 // 1024 GiB
)

// Bytes is a number of bytes.
type Bytes uint64

// String formats b for people: "512 B", "20.0 MiB", "7.43 GiB".
func (b Bytes) String() string {
	switch v := float64(b); {
	case b < KiB:
		return fmt.Sprintf("%d B", uint64(b))
	case b < MiB:
		return fmt.Sprintf("%.1f KiB", v/KiB)
	case b < GiB:
		return fmt.Sprintf("%.1f MiB", v/MiB)
	case b < TiB:
		return fmt.Sprintf("%.2f GiB", v/GiB)
	default:
		return fmt.Sprintf("%.2f TiB", v/TiB)
	}
}

// Torch formats b as PyTorch's error messages do: inclusive bounds, two decimals, nothing above GiB
// (c10/core/Allocator.h, format_size).
func (b Bytes) Torch() string {
	switch v := float64(b); {
	case b <= KiB:
		return fmt.Sprintf("%d bytes", uint64(b))
	case b <= MiB:
		return fmt.Sprintf("%.2f KiB", v/KiB)
	case b <= GiB:
		return fmt.Sprintf("%.2f MiB", v/MiB)
	default:
		return fmt.Sprintf("%.2f GiB", v/GiB)
	}
}

var suffixes = []struct {
	text  string
	scale float64
}{
	// The longer suffix first, so that "GiB" is not read as "B".
	{"kib", KiB}, {"mib", MiB}, {"gib", GiB}, {"tib", TiB},
	{"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"tb", 1e12},
	{"k", KiB}, {"m", MiB}, {"g", GiB}, {"t", TiB},
	{"b", 1},
}

// Parse parses "24GiB", "24 GB", "512MiB", or a number without a unit, which is multiplied by plain (1 for bytes, GiB
// for cards).
func Parse(text string, plain float64) (Bytes, error) {
	s := strings.ToLower(strings.TrimSpace(text))
	scale := plain
	for _, x := range suffixes {
		if strings.HasSuffix(s, x.text) {
			s, scale = strings.TrimSpace(strings.TrimSuffix(s, x.text)), x.scale
			break
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) {
		return 0, fmt.Errorf("%q is not a size; write it like 24GiB, 24GB or 24", text)
	}
	if v < 0 || v*scale >= 1<<60 {
		return 0, fmt.Errorf("size %q is out of range", text)
	}
	return Bytes(v * scale), nil
}

// leastLimit is the smallest limit accepted without a unit. A smaller number was surely meant in gigabytes: no run
// fits into so few bytes.
const leastLimit = KiB

// ParseLimit parses an amount of memory: bytes, or text with a unit. A bare number that is too small is an error that
// suggests a unit: 24 would be 24 bytes.
func ParseLimit(text string) (Bytes, error) {
	b, err := Parse(text, 1)
	switch {
	case err != nil:
		return 0, err
	case b == 0:
		return 0, errors.New("nothing fits into 0 bytes")
	case b < leastLimit && strings.Trim(text, "0123456789. ") == "":
		return 0, fmt.Errorf("%s without a unit means bytes, which is too little; write %sGiB", strings.TrimSpace(text), strings.TrimSpace(text))
	}
	return b, nil
}
