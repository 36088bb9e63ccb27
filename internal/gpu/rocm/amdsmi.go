// SPDX-License-Identifier: Apache-2.0

// Package rocm lists this machine's AMD GPUs. It uses amd-smi, its predecessor rocm-smi, or the kernel's files in
// /sys, whichever exists.
package rocm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"snug/internal/gpu"
)

// Run runs a program and returns its standard output.
type Run func(ctx context.Context, name string, args ...string) ([]byte, error)

// AMDSMI queries GPUs by running amd-smi.
type AMDSMI struct {
	Run Run // starts the program
}

// Name returns the source's name for messages.
func (AMDSMI) Name() string { return "amd-smi" }

// Maker returns the manufacturer of the listed GPUs.
func (AMDSMI) Maker() gpu.Maker { return gpu.AMD }

// Report combines the cards, their memory and their processes. The processes may be missing, as they are for ordinary
// users on some systems.
func (s AMDSMI) Report(ctx context.Context) (*gpu.Report, error) {
	static, err := s.Run(ctx, "amd-smi", "static", "--asic", "--bus", "--driver", "--json")
	if err != nil {
		return nil, err
	}
	metric, err := s.Run(ctx, "amd-smi", "metric", "--mem-usage", "--json")
	if err != nil {
		return nil, err
	}
	r, err := parseAMDSMI(static, metric)
	if err != nil {
		return nil, err
	}
	if processes, err := s.Run(ctx, "amd-smi", "process", "--json"); err == nil {
		addProcesses(r, processes)
	}
	return r, nil
}

// card is the output of `static` and `metric` for one GPU.
type card struct {
	GPU  int `json:"gpu"`
	ASIC struct {
		Name   string `json:"market_name"`
		Serial string `json:"asic_serial"`
		CUs    amount `json:"num_compute_units"`
		Arch   string `json:"target_graphics_version"`
	} `json:"asic"`
	Bus struct {
		BDF string `json:"bdf"`
	} `json:"bus"`
	Driver struct {
		Version string `json:"version"`
	} `json:"driver"`
	Memory struct {
		Total amount `json:"total_vram"`
		Used  amount `json:"used_vram"`
		Free  amount `json:"free_vram"`
	} `json:"mem_usage"`
}

// parseAMDSMI joins the two answers by GPU number.
func parseAMDSMI(static, metric []byte) (*gpu.Report, error) {
	var cards, memory []card
	if err := gpuData(static, &cards); err != nil {
		return nil, fmt.Errorf("reading its list of cards: %w", err)
	}
	if err := gpuData(metric, &memory); err != nil {
		return nil, fmt.Errorf("its memory: %w", err)
	}
	if len(cards) == 0 {
		return nil, errors.New("it lists no GPU")
	}
	r := &gpu.Report{}
	for _, c := range cards {
		d := gpu.Device{Maker: gpu.AMD, Index: c.GPU, Name: c.ASIC.Name, UUID: uuid(c.ASIC.Serial), Bus: c.Bus.BDF, Arch: known(c.ASIC.Arch), SMs: int(min(c.ASIC.CUs.n, 1<<16))}
		for _, m := range memory {
			if m.GPU == c.GPU {
				d.Total, d.Used, d.Free = m.Memory.Total.bytes(), m.Memory.Used.bytes(), m.Memory.Free.bytes()
			}
		}
		if d.Total == 0 {
			return nil, fmt.Errorf("it does not report the memory of GPU %d", c.GPU)
		}
		if d.Free == 0 {
			d.Free = d.Total - min(d.Used, d.Total)
		}
		r.Driver = known(c.Driver.Version)
		r.Devices = append(r.Devices, d)
	}
	return r, nil
}

// uuid returns a card's name for ROCR_VISIBLE_DEVICES: its serial number in lower case.
func uuid(serial string) string {
	hex, ok := strings.CutPrefix(strings.ToLower(serial), "0x")
	if !ok || hex == "" {
		return ""
	}
	return "GPU-" + hex
}

// known returns a text, or "" if it means that a value is not available.
func known(s string) string {
	if s == "N/A" {
		return ""
	}
	return s
}

// addProcesses reads `amd-smi process --json`. If no process is running, the output has a sentence in place of the
// process list.
func addProcesses(r *gpu.Report, out []byte) {
	var list []struct {
		GPU       int `json:"gpu"`
		Processes []struct {
			Info json.RawMessage `json:"process_info"`
		} `json:"process_list"`
	}
	if gpuData(out, &list) != nil {
		return
	}
	for _, g := range list {
		for _, p := range g.Processes {
			var info struct {
				Name   string `json:"name"`
				PID    int    `json:"pid"`
				Memory struct {
					VRAM amount `json:"vram_mem"`
				} `json:"memory_usage"`
			}
			if json.Unmarshal(p.Info, &info) != nil || info.PID == 0 {
				continue
			}
			for i := range r.Devices {
				if d := &r.Devices[i]; d.Index == g.GPU {
					d.Processes = append(d.Processes, gpu.Process{PID: info.PID, Name: known(info.Name), Used: info.Memory.VRAM.bytes()})
				}
			}
		}
	}
}
