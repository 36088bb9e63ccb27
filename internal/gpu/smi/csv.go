// SPDX-License-Identifier: Apache-2.0

package smi

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"snug/internal/gpu"
)

// fields are the queried columns, in order. Older drivers do not support some of them; xml.go then reads the same
// facts from nvidia-smi -q -x.
var fields = []string{
	"index", "uuid", "pci.bus_id", "memory.total", "memory.reserved", "memory.used", "memory.free",
	"compute_cap", "ecc.mode.current", "mig.mode.current", "driver_version", "name",
}

// parseCSV reads the answer to --query-gpu. nvidia-smi quotes nothing, so the name, which may contain a
// comma, comes last.
func parseCSV(out []byte) (*gpu.Report, error) {
	r := &gpu.Report{}
	for n, line := range lines(out) {
		cells := strings.SplitN(line, ", ", len(fields))
		if len(cells) != len(fields) {
			return nil, fmt.Errorf("line %d of its output has %d columns, not %d: %q", n+1, len(cells), len(fields), clip(line))
		}
		d, err := device(cells)
		if err != nil {
			return nil, fmt.Errorf("line %d of its output: %w", n+1, err)
		}
		r.Driver = cells[10]
		r.Devices = append(r.Devices, d)
	}
	if len(r.Devices) == 0 {
		return nil, errors.New("it lists no GPU")
	}
	return r, nil
}

func device(cells []string) (gpu.Device, error) {
	d := gpu.Device{UUID: cells[1], Bus: cells[2], ECC: on(cells[8]), MIG: on(cells[9]) == "on", Name: strings.TrimSpace(cells[11])}
	var err error
	if d.Index, err = strconv.Atoi(cells[0]); err != nil || d.Index < 0 {
		return d, fmt.Errorf("index %q", clip(cells[0]))
	}
	total, ok := mebibytes(cells[3])
	if !ok {
		return d, fmt.Errorf("memory %q", clip(cells[3]))
	}
	d.Reserved, _ = mebibytes(cells[4])
	d.Used, _ = mebibytes(cells[5])
	d.Free, _ = mebibytes(cells[6])
	d.Capability, _ = capability(cells[7])
	settle(&d, total)
	return d, nil
}

// addApps reads the answer to --query-compute-apps: uuid, pid, MiB, program.
func addApps(r *gpu.Report, out []byte) {
	for _, line := range lines(out) {
		cells := strings.SplitN(line, ", ", 4)
		if len(cells) != 4 {
			continue
		}
		pid, err := strconv.Atoi(cells[1])
		if err != nil {
			continue
		}
		used, _ := mebibytes(cells[2])
		for i := range r.Devices {
			if d := &r.Devices[i]; d.UUID == cells[0] {
				d.Processes = append(d.Processes, gpu.Process{PID: pid, Name: cells[3], Used: used})
			}
		}
	}
}

func lines(out []byte) []string {
	var all []string
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// clip shortens an answer for a message.
func clip(s string) string {
	if len(s) > 60 {
		return s[:60] + "..."
	}
	return s
}
