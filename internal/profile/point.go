// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Point is a size of the training run: the value of each varied quantity.
type Point map[string]int64

// maxQuantity keeps products of quantities within what a formula can compute.
const maxQuantity = 1 << 24

// ParsePoint reads "batch=2,seq=128".
func ParsePoint(text string) (Point, error) {
	p := Point{}
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(part, "=")
		name = strings.TrimSpace(name)
		if !ok || !isName(name) {
			return nil, fmt.Errorf("%q is not a size; write it like batch=8 or batch=8,seq=128", text)
		}
		n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%s is %q in %q; it must be a whole number, at least 1", name, strings.TrimSpace(value), text)
		}
		if n > maxQuantity {
			return nil, fmt.Errorf("%s is %d, which is too large for a training step", name, n)
		}
		if _, twice := p[name]; twice {
			return nil, fmt.Errorf("%q gives %s twice", text, name)
		}
		p[name] = n
	}
	return p, nil
}

func isName(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r != '-' && (r < '0' || r > '9')) {
			return false
		}
	}
	return s != ""
}

// Names returns the quantities of p, in order.
func (p Point) Names() []string { return slices.Sorted(maps.Keys(p)) }

// String returns p in the form that ParsePoint reads.
func (p Point) String() string {
	var parts []string
	for _, name := range p.Names() {
		parts = append(parts, fmt.Sprintf("%s=%d", name, p[name]))
	}
	return strings.Join(parts, ",")
}

// values returns the quantities of p in the order of names.
func (p Point) values(names []string) []int64 {
	out := make([]int64, len(names))
	for i, n := range names {
		out[i] = p[n]
	}
	return out
}
