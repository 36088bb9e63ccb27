// SPDX-License-Identifier: Apache-2.0

package smi

import (
	"encoding/xml"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"snug/internal/gpu"
)

// log is the part of `nvidia-smi -q -x` that matters here.
type log struct {
	Driver string   `xml:"driver_version"`
	CUDA   string   `xml:"cuda_version"`
	GPUs   []xmlGPU `xml:"gpu"`
}

type xmlGPU struct {
	Bus       string       `xml:"id,attr"`
	Name      string       `xml:"product_name"`
	UUID      string       `xml:"uuid"`
	MIG       string       `xml:"mig_mode>current_mig"`
	Slices    []xmlSlice   `xml:"mig_devices>mig_device"`
	Memory    xmlMemory    `xml:"fb_memory_usage"`
	ECC       string       `xml:"ecc_mode>current_ecc"`
	Processes []xmlProcess `xml:"processes>process_info"`
}

type xmlSlice struct {
	Index           string    `xml:"index"`
	GPUInstance     string    `xml:"gpu_instance_id"`
	ComputeInstance string    `xml:"compute_instance_id"`
	SMs             string    `xml:"device_attributes>shared>multiprocessor_count"`
	Memory          xmlMemory `xml:"fb_memory_usage"`
}

type xmlMemory struct {
	Total    string `xml:"total"`
	Reserved string `xml:"reserved"`
	Used     string `xml:"used"`
	Free     string `xml:"free"`
}

type xmlProcess struct {
	GPUInstance string `xml:"gpu_instance_id"`
	PID         string `xml:"pid"`
	Name        string `xml:"process_name"`
	Used        string `xml:"used_memory"`
}

// parseXML reads `nvidia-smi -q -x`.
func parseXML(out []byte) (*gpu.Report, error) {
	var l log
	if err := xml.Unmarshal(out, &l); err != nil {
		return nil, fmt.Errorf("its XML: %w", err)
	}
	if len(l.GPUs) == 0 {
		return nil, errors.New("it lists no GPU")
	}
	r := &gpu.Report{Driver: strings.TrimSpace(l.Driver), Runtime: strings.TrimSpace(l.CUDA)}
	for i, g := range l.GPUs {
		total, ok := mebibytes(g.Memory.Total)
		if !ok {
			return nil, fmt.Errorf("memory of GPU %d: %q", i, clip(g.Memory.Total))
		}
		d := gpu.Device{
			Index: i, Name: strings.TrimSpace(g.Name), UUID: strings.TrimSpace(g.UUID), Bus: g.Bus,
			ECC: on(g.ECC), MIG: on(g.MIG) == "on",
		}
		d.Reserved, _ = mebibytes(g.Memory.Reserved)
		d.Used, _ = mebibytes(g.Memory.Used)
		d.Free, _ = mebibytes(g.Memory.Free)
		if c, err := gpu.Find(d.Name); err == nil {
			d.Capability = c.Capability // not in the XML
		}
		settle(&d, total)
		for _, s := range g.Slices {
			d.Slices = append(d.Slices, s.slice())
		}
		g.claim(&d)
		r.Devices = append(r.Devices, d)
	}
	return r, nil
}

func (s xmlSlice) slice() gpu.Slice {
	out := gpu.Slice{Index: number(s.Index), GPUInstance: number(s.GPUInstance), ComputeInstance: number(s.ComputeInstance), SMs: number(s.SMs)}
	out.Total, _ = mebibytes(s.Memory.Total)
	out.Used, _ = mebibytes(s.Memory.Used)
	out.Free, _ = mebibytes(s.Memory.Free)
	if reserved, ok := mebibytes(s.Memory.Reserved); ok {
		out.Total -= min(reserved, out.Total)
	}
	return out
}

// claim adds each process to the slice that it runs in, or to the whole device.
func (g xmlGPU) claim(d *gpu.Device) {
	for _, p := range g.Processes {
		pid, err := strconv.Atoi(strings.TrimSpace(p.PID))
		if err != nil {
			continue
		}
		used, _ := mebibytes(p.Used)
		list := &d.Processes
		for i := range d.Slices {
			if instance, err := strconv.Atoi(p.GPUInstance); err == nil && instance == d.Slices[i].GPUInstance {
				list = &d.Slices[i].Processes
			}
		}
		*list = append(*list, gpu.Process{PID: pid, Name: strings.TrimSpace(p.Name), Used: used})
	}
}

func number(s string) int {
	n, _ := strconv.Atoi(strings.TrimSpace(s))
	return n
}
