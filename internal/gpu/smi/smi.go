// SPDX-License-Identifier: Apache-2.0

// Package smi lists this machine's NVIDIA GPUs by running nvidia-smi, for when NVML cannot be loaded.
package smi

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"snug/internal/gpu"
	"snug/internal/units"
)

// Run runs a program and returns its standard output.
type Run func(ctx context.Context, name string, args ...string) ([]byte, error)

// Source queries GPUs by running nvidia-smi.
type Source struct {
	Run Run // starts the program
}

// Name returns the source's name for messages.
func (Source) Name() string { return "nvidia-smi" }

// Maker returns the manufacturer of the listed GPUs.
func (Source) Maker() gpu.Maker { return gpu.NVIDIA }

const program = "nvidia-smi"

// Report reads the short CSV. If a driver does not support one of its fields, or a card has slices, it reads the long
// XML.
func (s Source) Report(ctx context.Context) (*gpu.Report, error) {
	r, err := s.short(ctx)
	if err == nil && !cut(r) {
		return r, nil
	}
	long, longErr := s.long(ctx)
	if longErr != nil {
		if err == nil {
			return r, nil // incomplete: the slices are missing
		}
		return nil, err
	}
	return long, nil
}

func cut(r *gpu.Report) bool {
	for _, d := range r.Devices {
		if d.MIG {
			return true
		}
	}
	return false
}

func (s Source) short(ctx context.Context) (*gpu.Report, error) {
	out, err := s.Run(ctx, program, "--query-gpu="+strings.Join(fields, ","), "--format=csv,noheader,nounits")
	if err != nil {
		return nil, err
	}
	r, err := parseCSV(out)
	if err != nil {
		return nil, err
	}
	if apps, err := s.Run(ctx, program, "--query-compute-apps=gpu_uuid,pid,used_memory,process_name", "--format=csv,noheader,nounits"); err == nil {
		addApps(r, apps)
	}
	return r, nil
}

func (s Source) long(ctx context.Context) (*gpu.Report, error) {
	out, err := s.Run(ctx, program, "-q", "-x")
	if err != nil {
		return nil, err
	}
	r, err := parseXML(out)
	if err != nil {
		return nil, err
	}
	if cut(r) {
		if list, err := s.Run(ctx, program, "-L"); err == nil {
			addSliceNames(r, list)
		}
	}
	return r, nil
}

// mebibytes returns the bytes of "143771" or "143771 MiB"; false if that is not a number ("[N/A]",
// "[Insufficient Permissions]").
func mebibytes(text string) (uint64, bool) {
	text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "MiB"))
	n, err := strconv.ParseUint(text, 10, 40)
	return n * units.MiB, err == nil
}

// capability returns 90 for "9.0".
func capability(text string) (int, error) {
	major, minor, _ := strings.Cut(strings.TrimSpace(text), ".")
	a, err1 := strconv.Atoi(major)
	b, err2 := strconv.Atoi(minor)
	if err1 != nil || err2 != nil || a < 0 || a > 99 || b < 0 || b > 9 {
		return 0, fmt.Errorf("compute capability %q", text)
	}
	return 10*a + b, nil
}

// on returns "on" for Enabled, "off" for Disabled, and "" for anything else.
func on(text string) string {
	switch strings.TrimSpace(text) {
	case "Enabled":
		return "on"
	case "Disabled":
		return "off"
	}
	return ""
}

// settle fills in derived values: the memory available to processes is the total minus the driver's share.
func settle(d *gpu.Device, total uint64) {
	d.Maker = gpu.NVIDIA
	d.Total = total - min(d.Reserved, total)
	if d.Reserved == 0 && d.Used+d.Free < total && d.Free > 0 {
		d.Total = d.Used + d.Free
	}
	if d.Capability > 0 {
		d.Arch = "sm_" + strconv.Itoa(d.Capability)
	}
}
