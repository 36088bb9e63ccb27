// SPDX-License-Identifier: Apache-2.0

package rocm

import (
	"context"
	"encoding/json"
	"io/fs"
	"slices"
	"strconv"

	"snug/internal/gpu"
)

// Open returns a sampler that reads the kernel's files, if there is a card.
func (s Sysfs) Open(ctx context.Context) (gpu.Sampler, error) {
	_, err := s.Report(ctx)
	return sysfsSampler{s}, err
}

type sysfsSampler struct{ source Sysfs }

// Sample reads the memory and the processes as Report does, and the other values that the driver provides:
// utilization, power and temperature.
func (a sysfsSampler) Sample(ctx context.Context) ([]gpu.Sample, error) {
	r, err := a.source.Report(ctx)
	if err != nil {
		return nil, err
	}
	var out []gpu.Sample
	dirs := a.source.cards()
	for i, d := range r.Devices {
		x := gpu.Sample{Maker: gpu.AMD, Index: d.Index, UUID: d.UUID, Name: d.Name, Total: d.Total, Used: d.Used, Processes: d.Processes}
		if i < len(dirs) {
			a.source.sensors(&x, dirs[i])
		}
		out = append(out, x)
	}
	return out, nil
}

// Close does nothing: files are opened for each sample.
func (sysfsSampler) Close() {}

// sensors reads gpu_busy_percent and the first hwmon folder, which has microwatts and thousandths of a degree.
func (s Sysfs) sensors(x *gpu.Sample, dir string) {
	x.Util = scaled(s.text(dir+"/gpu_busy_percent"), 1)
	monitors, _ := fs.Glob(s.Root, dir+"/hwmon/hwmon[0-9]*")
	slices.Sort(monitors)
	for _, m := range monitors {
		for _, file := range []string{"power1_average", "power1_input"} {
			if x.Power == nil {
				x.Power = scaled(s.text(m+"/"+file), 1e-6)
			}
		}
		if x.PowerLimit == nil {
			x.PowerLimit = scaled(s.text(m+"/power1_cap"), 1e-6)
		}
		if x.Temperature == nil {
			x.Temperature = scaled(s.text(m+"/temp1_input"), 1e-3)
		}
	}
}

// scaled returns a file's number in another unit; nil if it is not a number.
func scaled(text string, by float64) *float64 {
	n, err := strconv.ParseUint(text, 10, 40)
	if err != nil {
		return nil
	}
	x := float64(n) * by
	return &x
}

// Open returns a sampler that runs amd-smi for each sample, if amd-smi responds now.
func (s AMDSMI) Open(ctx context.Context) (gpu.Sampler, error) {
	static, err := s.Report(ctx)
	if err != nil {
		return nil, err
	}
	return amdSampler{s, static.Devices}, nil
}

type amdSampler struct {
	source AMDSMI
	cards  []gpu.Device // from the first query, for their names and UUIDs
}

// Sample runs amd-smi twice: for the cards and for their processes.
func (a amdSampler) Sample(ctx context.Context) ([]gpu.Sample, error) {
	out, err := a.source.Run(ctx, "amd-smi", "metric", "--mem-usage", "--usage", "--power", "--temperature", "--json")
	if err != nil {
		return nil, err
	}
	samples, err := parseMetrics(out)
	if err != nil {
		return nil, err
	}
	r := &gpu.Report{}
	for i := range samples {
		x := &samples[i]
		for _, d := range a.cards {
			if d.Index == x.Index {
				x.Name, x.UUID = d.Name, d.UUID
			}
		}
		r.Devices = append(r.Devices, gpu.Device{Index: x.Index})
	}
	if processes, err := a.source.Run(ctx, "amd-smi", "process", "--json"); err == nil {
		addProcesses(r, processes)
		for i := range samples {
			samples[i].Processes = r.Devices[i].Processes
		}
	}
	return samples, nil
}

// Close does nothing: no program is left running.
func (amdSampler) Close() {}

// metrics is one GPU in the output of `metric`. If a card lacks a part, the output has a string in place of the
// object.
type metrics struct {
	GPU   int `json:"gpu"`
	Usage part[struct {
		GFX amount `json:"gfx_activity"`
	}] `json:"usage"`
	Power part[struct {
		Socket amount `json:"socket_power"`
	}] `json:"power"`
	Temperature part[struct {
		Edge    amount `json:"edge"`
		Hotspot amount `json:"hotspot"`
	}] `json:"temperature"`
	Memory struct {
		Total amount `json:"total_vram"`
		Used  amount `json:"used_vram"`
	} `json:"mem_usage"`
}

// part is an object; anything else is read as an empty one.
type part[T any] struct{ is T }

// UnmarshalJSON reads the object.
func (p *part[T]) UnmarshalJSON(text []byte) error {
	var is T
	if json.Unmarshal(text, &is) == nil {
		p.is = is
	}
	return nil
}

func parseMetrics(out []byte) ([]gpu.Sample, error) {
	var list []metrics
	if err := gpuData(out, &list); err != nil {
		return nil, err
	}
	var all []gpu.Sample
	for _, m := range list {
		x := gpu.Sample{Maker: gpu.AMD, Index: m.GPU, Total: m.Memory.Total.bytes(), Used: m.Memory.Used.bytes()}
		x.Util, x.Power, x.Temperature = m.Usage.is.GFX.value(), m.Power.is.Socket.value(), m.Temperature.is.Edge.value()
		if x.Temperature == nil {
			x.Temperature = m.Temperature.is.Hotspot.value()
		}
		all = append(all, x)
	}
	return all, nil
}

// value returns the number; nil if there was none.
func (a amount) value() *float64 {
	if !a.known {
		return nil
	}
	x := float64(a.n)
	return &x
}
