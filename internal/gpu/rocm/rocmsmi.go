// SPDX-License-Identifier: Apache-2.0

package rocm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"snug/internal/gpu"
)

// ROCmSMI queries GPUs by running rocm-smi, amd-smi's predecessor.
type ROCmSMI struct {
	Run Run // starts the program
}

// Name returns the source's name for messages.
func (ROCmSMI) Name() string { return "rocm-smi" }

// Maker returns the manufacturer of the listed GPUs.
func (ROCmSMI) Maker() gpu.Maker { return gpu.AMD }

// Report reads everything from one run of the program.
func (s ROCmSMI) Report(ctx context.Context) (*gpu.Report, error) {
	out, err := s.Run(ctx, "rocm-smi", "--showproductname", "--showmeminfo", "vram", "--showuniqueid", "--showbus", "--showdriverversion", "--json")
	if err != nil {
		return nil, err
	}
	return parseROCmSMI(out)
}

// parseROCmSMI reads {"card0": {"VRAM Total Memory (B)": "…", …}, "system": …}.
func parseROCmSMI(out []byte) (*gpu.Report, error) {
	data, err := answer(out)
	if err != nil {
		return nil, err
	}
	var all map[string]map[string]any
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("its JSON: %w", err)
	}
	r := &gpu.Report{}
	for name, values := range all {
		text := func(key string) string { s, _ := values[key].(string); return known(s) }
		if name == "system" {
			r.Driver = text("Driver version")
			continue
		}
		digits, isCard := strings.CutPrefix(name, "card")
		index, err := strconv.Atoi(digits)
		if !isCard || err != nil {
			continue
		}
		total, err := strconv.ParseUint(text("VRAM Total Memory (B)"), 10, 62)
		if err != nil {
			return nil, fmt.Errorf("it does not report the memory of GPU %d", index)
		}
		used, _ := strconv.ParseUint(text("VRAM Total Used Memory (B)"), 10, 62)
		used = min(used, total)
		r.Devices = append(r.Devices, gpu.Device{
			Maker: gpu.AMD, Index: index, Name: product(text), UUID: uuid(text("Unique ID")), Bus: text("PCI Bus"),
			Arch: text("GFX Version"), Total: total, Used: used, Free: total - used,
		})
	}
	if len(r.Devices) == 0 {
		return nil, errors.New("it lists no GPU")
	}
	slices.SortFunc(r.Devices, func(a, b gpu.Device) int { return a.Index - b.Index })
	return r, nil
}

// product returns the card's name. Older versions swap series and model. A number does not count as a name.
func product(text func(string) string) string {
	for _, key := range []string{"Card Series", "Card series", "Card Model", "Card model"} {
		if s := text(key); s != "" && !strings.HasPrefix(s, "0x") {
			return s
		}
	}
	return "AMD GPU"
}
