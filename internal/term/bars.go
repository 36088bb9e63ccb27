// SPDX-License-Identifier: Apache-2.0

package term

import "strings"

// Characters that fill a cell by eighths, from the bottom and from the left.
var (
	rising  = []rune(" ▁▂▃▄▅▆▇█")
	growing = []rune(" ▏▎▍▌▋▊▉█")
)

// Bar returns value/full as a bar of at most width cells.
func (s Screen) Bar(value, full uint64, width int) string {
	if full == 0 || width <= 0 {
		return ""
	}
	if !s.Unicode {
		return strings.Repeat("#", scale(value, full, width))
	}
	eighths := scale(value, full, 8*width)
	bar := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		bar += string(growing[rest])
	}
	return bar
}

// scale returns n * value / full, rounded: at most n, and at least 1 for a value above 0.
func scale(value, full uint64, n int) int {
	if value == 0 || full == 0 {
		return 0
	}
	k := int(float64(value)/float64(full)*float64(n) + 0.5)
	return min(max(k, 1), n)
}

// Sparkline returns one character per value, as high as the value relative to the largest.
func (s Screen) Sparkline(values []uint64) string {
	full := uint64(1)
	for _, v := range values {
		full = max(full, v)
	}
	levels := rising
	if !s.Unicode {
		levels = []rune(" .:-=+*#@")
	}
	var b strings.Builder
	for _, v := range values {
		b.WriteRune(levels[scale(v, full, 8)])
	}
	return b.String()
}
