// SPDX-License-Identifier: Apache-2.0

// Package local contains the sources that list this machine's GPUs: NVML, nvidia-smi, and AMD's tools and files.
package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"snug/internal/gpu"
	"snug/internal/gpu/nvml"
	"snug/internal/gpu/rocm"
	"snug/internal/gpu/smi"
)

// Sources returns all sources, each manufacturer's best first. Nothing is loaded or started until a source is
// queried.
func Sources() []gpu.Source {
	return []gpu.Source{
		nvml.Source{}, smi.Source{Run: run},
		rocm.AMDSMI{Run: run}, rocm.ROCmSMI{Run: run}, rocm.Sysfs{Root: os.DirFS("/")},
	}
}

// Samplers returns the sources that can be sampled, each manufacturer's cheapest first: a library and files before
// programs that are started for each sample.
func Samplers() []gpu.SampledSource {
	return []gpu.SampledSource{
		nvml.Source{}, smi.Source{Run: run},
		rocm.Sysfs{Root: os.DirFS("/")}, rocm.AMDSMI{Run: run}, gpu.Repeated{Source: rocm.ROCmSMI{Run: run}},
	}
}

// patience is how long a program may take; nvidia-smi needs seconds if the driver is not kept loaded.
const patience = 15 * time.Second

// run runs a program and returns its standard output.
func run(ctx context.Context, name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err := cmd.Run()
	switch {
	case err == nil:
		return out.Bytes(), nil
	case errors.Is(err, exec.ErrNotFound):
		return nil, errors.New("not installed")
	case ctx.Err() != nil:
		return nil, fmt.Errorf("no answer within %v", patience)
	}
	// nvidia-smi prints its errors on standard output.
	for _, text := range []string{complaint.String(), out.String()} {
		if line, _, _ := strings.Cut(strings.TrimSpace(text), "\n"); line != "" {
			return nil, fmt.Errorf("%w: %s", err, line)
		}
	}
	return nil, err
}
