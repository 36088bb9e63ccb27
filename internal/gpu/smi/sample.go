// SPDX-License-Identifier: Apache-2.0

package smi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"snug/internal/gpu"
)

// sampled are the columns of a sample, in order. The column for reduced clocks has a name that both old and new
// drivers accept.
var sampled = []string{
	"index", "uuid", "memory.total", "memory.reserved", "memory.used", "utilization.gpu", "power.draw",
	"enforced.power.limit", "temperature.gpu", "clocks_throttle_reasons.active", "name",
}

// Open returns a sampler that runs nvidia-smi for each sample, if nvidia-smi responds now.
func (s Source) Open(ctx context.Context) (gpu.Sampler, error) {
	if r, err := s.Report(ctx); err == nil && slices.ContainsFunc(r.Devices, func(d gpu.Device) bool { return len(d.Slices) > 0 }) {
		return gpu.Repeated{Source: s}.Open(ctx)
	}
	a := sampler{s}
	_, err := a.Sample(ctx)
	return a, err
}

type sampler struct{ source Source }

// Sample runs nvidia-smi twice: for the GPUs and for their processes.
func (a sampler) Sample(ctx context.Context) ([]gpu.Sample, error) {
	out, err := a.source.Run(ctx, program, "--query-gpu="+strings.Join(sampled, ","), "--format=csv,noheader,nounits")
	if err != nil {
		return nil, err
	}
	samples, err := parseSamples(out)
	if err != nil {
		return nil, err
	}
	if apps, err := a.source.Run(ctx, program, "--query-compute-apps=gpu_uuid,pid,used_memory,process_name", "--format=csv,noheader,nounits"); err == nil {
		addSampledApps(samples, apps)
	}
	return samples, nil
}

// Close does nothing: no program is left running.
func (sampler) Close() {}

func parseSamples(out []byte) ([]gpu.Sample, error) {
	var all []gpu.Sample
	for n, line := range lines(out) {
		cells := strings.SplitN(line, ", ", len(sampled))
		if len(cells) != len(sampled) {
			return nil, fmt.Errorf("line %d of its output has %d columns, not %d: %q", n+1, len(cells), len(sampled), clip(line))
		}
		s := gpu.Sample{Maker: gpu.NVIDIA, UUID: cells[1], Name: strings.TrimSpace(cells[10])}
		var err error
		if s.Index, err = strconv.Atoi(cells[0]); err != nil || s.Index < 0 {
			return nil, fmt.Errorf("line %d of its output: index %q", n+1, clip(cells[0]))
		}
		total, ok := mebibytes(cells[2])
		if !ok {
			s.Err = fmt.Errorf("its memory: %s", clip(cells[2]))
		}
		s.Total = total
		s.Reserved, _ = mebibytes(cells[3])
		s.Used, _ = mebibytes(cells[4])
		s.Util, s.Power, s.PowerLimit, s.Temperature = measured(cells[5]), measured(cells[6]), measured(cells[7]), measured(cells[8])
		if bits, err := strconv.ParseUint(strings.TrimPrefix(cells[9], "0x"), 16, 64); err == nil {
			s.Throttle = gpu.SlowdownReasons(bits)
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		return nil, errors.New("it lists no GPU")
	}
	return all, nil
}

// measured returns the number in a cell; nil if there is none ("[N/A]").
func measured(text string) *float64 {
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || x < 0 || x > 1e6 {
		return nil
	}
	return &x
}

func addSampledApps(samples []gpu.Sample, out []byte) {
	r := &gpu.Report{}
	for _, s := range samples {
		r.Devices = append(r.Devices, gpu.Device{UUID: s.UUID})
	}
	addApps(r, out)
	for i := range samples {
		samples[i].Processes = r.Devices[i].Processes
	}
}
