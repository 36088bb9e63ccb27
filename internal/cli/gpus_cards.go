// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strconv"
	"strings"

	"snug/internal/gpu"
	"snug/internal/term"
	"snug/internal/units"
)

// rate is a card's speed in one precision.
type rate struct {
	name string
	rate float64 // operations per second
}

func cardRates(c gpu.Card) []rate {
	r := c.Rates
	return []rate{{"fp32", r.FP32}, {"tf32", r.TF32}, {"fp16", r.FP16}, {"bf16", r.BF16}, {"fp8", r.FP8}}
}

// tera formats operations per second as TFLOP/s.
func tera(x float64) string {
	switch x /= 1e12; {
	case x == 0:
		return "-"
	case x < 10:
		return fmt.Sprintf("%.1f", x)
	default:
		return fmt.Sprintf("%.0f", x)
	}
}

// cardTable returns a table of cards, one line each.
func cardTable(s term.Screen, cards []gpu.Card) []string {
	t := term.Table{Header: []string{"card", "GiB", "arch", "SMs", "GB/s"}, Right: []int{1, 3, 4, 5, 6, 7, 8, 9}}
	for _, r := range cardRates(gpu.Card{}) {
		t.Header = append(t.Header, r.name)
	}
	for _, c := range cards {
		size := fmt.Sprintf("%.1f", float64(c.Total)/units.GiB)
		if !c.Seen {
			size = "~" + size
		}
		row := []string{c.Name, size, c.Arch, strconv.Itoa(c.SMs), fmt.Sprintf("%.0f", c.Bandwidth/1e9)}
		for _, r := range cardRates(c) {
			row = append(row, tera(r.rate))
		}
		t.Rows = append(t.Rows, row)
	}
	out := append(s.Table(t), "")
	legend := "GiB is the memory available to a process (~ means assumed, from nvidia-smi or the data sheet). " +
		"Rates are dense peaks in TFLOP/s with fp32 accumulation; - means no hardware support. " +
		"AMD cards with two dies are listed per die."
	return append(out, wrap(strings.Fields(legend), " ", s.Width)...)
}

// cardSheet returns everything known about one card, as lines.
func cardSheet(s term.Screen, c gpu.Card) []string {
	unit := "multiprocessors"
	if c.Maker == gpu.AMD {
		unit = "compute units"
	}
	out := []string{
		s.Paint(term.Bold, c.Name),
		fmt.Sprintf("%s, %d GB as sold, %s, %d %s", c.Maker, c.Memory, c.Arch, c.SMs, unit),
		"",
	}
	line := func(label, value, note string) {
		out = append(out, strings.TrimRight(fmt.Sprintf("  %-16s %14s  %s", label, value, note), " "))
	}
	line("memory", units.Bytes(c.Total).String(), either(c.Seen, "for processes, observed", "for processes, assumed"))
	line("outside PyTorch", units.Bytes(c.Outside).String(), either(c.Measured, "measured", "assumed: measured only on the H200"))
	line("bandwidth", term.Count(int(c.Bandwidth/1e9))+" GB/s", "")
	for _, r := range cardRates(c) {
		if r.rate > 0 {
			line(r.name, tera(r.rate)+" TFLOP/s", "")
		}
	}
	attention := either(c.Flash(), "flash, memory-efficient, plain", "memory-efficient, plain (no flash kernels)")
	out = append(out, "", "  precision  "+strings.Join(c.Precisions(), ", "), "  attention  "+attention)
	if c.Maker == gpu.AMD {
		out = append(out, "", "  Memory is simulated with CUDA kernels; ROCm may differ.")
	}
	return out
}

func either(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}
