// SPDX-License-Identifier: Apache-2.0

package cli

import "snug/internal/gpu"

// cardAnswer is the JSON of a card in the catalog.
type cardAnswer struct {
	Name            string             `json:"name"`
	Maker           gpu.Maker          `json:"maker"`
	MemoryGB        int                `json:"memory_gb"`
	Total           uint64             `json:"total"`
	TotalAssumed    bool               `json:"total_assumed"`
	Outside         uint64             `json:"outside"`
	OutsideAssumed  bool               `json:"outside_assumed"`
	Arch            string             `json:"arch"`
	Capability      int                `json:"capability,omitempty"`
	Multiprocessors int                `json:"multiprocessors"`
	Bandwidth       float64            `json:"bandwidth"`
	Rates           map[string]float64 `json:"rates"`
	Precisions      []string           `json:"precisions"`
	Flash           bool               `json:"flash_attention"`
}

func newCardAnswer(c gpu.Card) cardAnswer {
	a := cardAnswer{
		Name: c.Name, Maker: c.Maker, MemoryGB: c.Memory, Total: c.Total, TotalAssumed: !c.Seen, Outside: c.Outside, OutsideAssumed: !c.Measured,
		Arch: c.Arch, Capability: c.Capability, Multiprocessors: c.SMs, Bandwidth: c.Bandwidth,
		Rates: map[string]float64{}, Precisions: c.Precisions(), Flash: c.Flash(),
	}
	for _, r := range cardRates(c) {
		if r.rate > 0 {
			a.Rates[r.name] = r.rate
		}
	}
	return a
}

// machineAnswer is the JSON of snug gpus: the GPUs of this machine.
type machineAnswer struct {
	GPUs    []deviceAnswer  `json:"gpus"`
	Drivers []gpu.Driver    `json:"drivers"`
	Tried   []attemptAnswer `json:"tried"`
	Notes   []string        `json:"notes,omitempty"`
}

// deviceAnswer is a device and the catalog card that is used to plan for it.
type deviceAnswer struct {
	gpu.Device
	Card string `json:"card,omitempty"` // its name in the catalog
}

type attemptAnswer struct {
	Source string `json:"source"`
	Error  string `json:"error,omitempty"`
}

func newMachineAnswer(m *gpu.Machine) machineAnswer {
	a := machineAnswer{GPUs: []deviceAnswer{}, Drivers: m.Drivers, Tried: []attemptAnswer{}, Notes: m.Notes}
	if a.Drivers == nil {
		a.Drivers = []gpu.Driver{}
	}
	for _, d := range m.Devices {
		a.GPUs = append(a.GPUs, deviceAnswer{d, catalogName(d)})
	}
	for _, t := range m.Tried {
		answer := attemptAnswer{Source: t.Source}
		if t.Err != nil {
			answer.Error = oneLine(t.Err.Error())
		}
		a.Tried = append(a.Tried, answer)
	}
	return a
}

// catalogName returns the device's name in the catalog, or "" if it is not in it.
func catalogName(d gpu.Device) string {
	if name := d.Card().Name; name != d.Name {
		return name
	}
	if _, err := gpu.Find(d.Name); err == nil {
		return d.Name
	}
	return ""
}
