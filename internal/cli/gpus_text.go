// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"snug/internal/gpu"
	"snug/internal/term"
	"snug/internal/units"
)

// printLines writes a report.
func printLines(w io.Writer, lines []string) error {
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

// machineReport is the text output of `snug gpus`.
type machineReport struct {
	*gpu.Machine
	screen term.Screen
}

func (r machineReport) lines() []string {
	if len(r.Devices) == 0 {
		return r.nothing()
	}
	var out []string
	for _, driver := range r.Drivers {
		out = append(out, r.screen.Paint(term.Bold, r.title(driver)))
		for _, d := range r.Devices {
			if d.Maker == driver.Maker {
				out = append(append(out, ""), r.device(d)...)
			}
		}
		out = append(out, "")
	}
	for _, n := range r.Notes {
		out = append(out, wrap(strings.Fields("Note: "+n), " ", r.screen.Width)...)
	}
	if len(r.Notes) == 0 {
		out = out[:len(out)-1]
	}
	return out
}

// nothing returns the report if no GPU was found, with what was tried.
func (r machineReport) nothing() []string {
	out := []string{"No GPU found here. snug tried:"}
	for _, t := range r.Tried {
		why := "lists no GPU"
		if t.Err != nil {
			why = oneLine(t.Err.Error())
		}
		out = append(out, fmt.Sprintf("  %-16s %s", t.Source, r.screen.Cut(why, r.screen.Width-19)))
	}
	plan := fmt.Sprintf("You can plan without one: name a card with --gpu (snug gpus --all lists %d), or its memory with --gpu-memory.", len(gpu.Cards()))
	return append(out, wrap(strings.Fields(plan), " ", r.screen.Width)...)
}

func (r machineReport) title(d gpu.Driver) string {
	n := 0
	for _, x := range r.Devices {
		if x.Maker == d.Maker {
			n++
		}
	}
	text := fmt.Sprintf("%d %s GPUs here", n, d.Maker)
	if n == 1 {
		text = fmt.Sprintf("One %s GPU here", d.Maker)
	}
	if d.Version != "" {
		text += ", driver " + d.Version
	}
	if d.Runtime != "" {
		text += ", CUDA up to " + d.Runtime
	}
	return text + " (from " + d.Source + ")"
}

const deviceIndent = "     "

// device describes one GPU: a line with its name, one with its memory, then the processes that use it.
func (r machineReport) device(d gpu.Device) []string {
	facts := []string{fmt.Sprintf("%3d  %s", d.Index, r.screen.Paint(term.Bold, d.Name))}
	if name := catalogName(d); name == "" {
		facts = append(facts, "not in the catalog")
	} else if name != strings.TrimPrefix(d.Name, "NVIDIA ") {
		facts = append(facts, "--gpu "+name)
	}
	for _, fact := range []string{d.Arch, r.ecc(d), r.seenAs(d.Ordinal, d.Index, d.MIG)} {
		if fact != "" {
			facts = append(facts, fact)
		}
	}
	out := []string{strings.Join(facts, ", ")}
	out = append(out, deviceIndent+r.bar(d.Used, d.Total))
	out = append(out, deviceIndent+fmt.Sprintf("%v used, %v free", units.Bytes(d.Used), units.Bytes(d.Free)))
	out = append(out, r.holders(d.Processes, deviceIndent)...)
	for _, s := range d.Slices {
		out = append(out, r.slice(s)...)
	}
	if rest := d.Unclaimed(); rest > 64*units.MiB {
		who := "processes not visible from here"
		if slices.ContainsFunc(d.Processes, func(p gpu.Process) bool { return p.Used == 0 }) {
			who = "processes of unknown size"
		}
		out = append(out, deviceIndent+fmt.Sprintf("%10s  used by %s", units.Bytes(rest), who))
	}
	return out
}

func (r machineReport) ecc(d gpu.Device) string {
	if d.ECC == "" {
		return ""
	}
	return "ECC " + d.ECC
}

// seenAs returns PyTorch's index of the GPU if it differs from the driver's.
func (r machineReport) seenAs(ordinal, index int, cut bool) string {
	switch {
	case cut:
		return "split into slices"
	case ordinal == gpu.Hidden:
		return r.screen.Paint(term.Red, "hidden from PyTorch")
	case ordinal != index:
		return fmt.Sprintf("cuda:%d", ordinal)
	}
	return ""
}

func (r machineReport) bar(used, total uint64) string {
	width := r.screen.Width - 32
	bar := r.screen.Bar(used, total, width)
	rest := strings.Repeat(r.screen.Shade(), max(width-len([]rune(bar)), 0))
	return fmt.Sprintf("%s%s %s of %v", bar, r.screen.Paint(term.Dim, rest), percent(used, total), units.Bytes(total))
}

// holders lists processes, largest first.
func (r machineReport) holders(list []gpu.Process, indent string) []string {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b gpu.Process) int { return cmp.Compare(b.Used, a.Used) })
	var out []string
	for _, p := range list {
		size := "?"
		if p.Used > 0 {
			size = units.Bytes(p.Used).String()
		}
		name := "(unknown name)"
		if p.Name != "" {
			name = filepath.Base(p.Name)
		}
		out = append(out, r.screen.Cut(fmt.Sprintf("%s%10s  pid %-8d %s", indent, size, p.PID, name), r.screen.Width))
	}
	return out
}

// slice describes a part of a GPU (MIG), with the UUID for CUDA_VISIBLE_DEVICES.
func (r machineReport) slice(s gpu.Slice) []string {
	line := fmt.Sprintf("%sslice %-10s %v of %v free", deviceIndent, s.Profile, units.Bytes(s.Free), units.Bytes(s.Total))
	if s.Ordinal != gpu.Hidden {
		line += fmt.Sprintf(", cuda:%d", s.Ordinal)
	}
	out := []string{line}
	if s.UUID != "" {
		out = append(out, deviceIndent+"      "+s.UUID)
	}
	return append(out, r.holders(s.Processes, deviceIndent+"      ")...)
}
