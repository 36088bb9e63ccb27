// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/units"
)

// source returns fixed answers.
type source struct {
	name   string
	maker  Maker
	report *Report
	err    error
}

func (s source) Name() string                            { return s.name }
func (s source) Maker() Maker                            { return s.maker }
func (s source) Report(context.Context) (*Report, error) { return s.report, s.err }

// nvidia returns a machine's NVIDIA cards, given the ends of their UUIDs.
func nvidia(uuids ...string) *Report {
	r := &Report{Driver: "580"}
	for i, u := range uuids {
		r.Devices = append(r.Devices, Device{Maker: NVIDIA, Index: i, Name: "NVIDIA H200", UUID: "GPU-" + u, Total: 10, Free: 8, Used: 2})
	}
	return r
}

func TestDetectAsksInOrder(t *testing.T) {
	broken := errors.New("not installed")
	amd := &Report{Devices: []Device{{Maker: AMD, Name: "MI300X"}}}
	m := Detect(context.Background(), []Source{
		source{"one", NVIDIA, nil, broken}, source{"two", NVIDIA, &Report{}, nil}, source{"three", NVIDIA, nvidia("a"), nil},
		source{"four", NVIDIA, nil, errors.New("never asked")}, source{"five", AMD, amd, nil},
	})
	var asked []string
	for _, a := range m.Tried {
		asked = append(asked, a.Source)
	}
	if diff := cmp.Diff([]string{"one", "two", "three", "five"}, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if len(m.Devices) != 2 || m.Drivers[0].Source != "three" || m.Drivers[1].Maker != AMD || !errors.Is(m.Tried[0].Err, broken) {
		t.Errorf("%+v", m)
	}
	if m.Devices[0].Ordinal != 0 || m.Devices[1].Ordinal != 0 {
		t.Errorf("each manufacturer should be numbered separately: %+v", m.Devices)
	}
}

// ordinals returns the devices' ordinals, with each slice's after its device's.
func ordinals(m *Machine) []int {
	var out []int
	for _, d := range m.Devices {
		out = append(out, d.Ordinal)
		for _, s := range d.Slices {
			out = append(out, s.Ordinal)
		}
	}
	return out
}

func TestVisibleDevices(t *testing.T) {
	tests := []struct {
		value string
		want  []int
		note  string
	}{
		{"0,1,2", []int{0, 1, 2}, ""},
		{"2,0", []int{1, Hidden, 0}, ""},
		{" 1 ", []int{Hidden, 0, Hidden}, ""},
		{"", []int{Hidden, Hidden, Hidden}, ""},
		{"-1", []int{Hidden, Hidden, Hidden}, ""},
		{"1,-1,2", []int{Hidden, 0, Hidden}, ""},
		{"1,9,2", []int{Hidden, 0, Hidden}, `"9" is not a GPU in this machine`},
		{"none", []int{Hidden, Hidden, Hidden}, `"none" is not a GPU in this machine`},
		{"1,1", []int{Hidden, Hidden, Hidden}, "twice"},
		{"GPU-bb,GPU-aa11", []int{1, Hidden, 0}, ""},
		{"GPU-aa", []int{Hidden, Hidden, Hidden}, "not a GPU in this machine"}, // two UUIDs begin with this prefix
		{"99999999999999999999", []int{Hidden, Hidden, Hidden}, "not a GPU in this machine"},
	}
	for _, tt := range tests {
		m := Detect(context.Background(), []Source{source{"x", NVIDIA, nvidia("aa11", "aa22", "bb33"), nil}})
		m.Limit(env{"CUDA_VISIBLE_DEVICES": tt.value}.lookup)
		if diff := cmp.Diff(tt.want, ordinals(m)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.value, diff)
		}
		if notes := strings.Join(m.Notes, "; "); !strings.Contains(notes, tt.note) || (notes == "") != (tt.note == "") {
			t.Errorf("%q: notes %q, want %q", tt.value, notes, tt.note)
		}
	}
}

type env map[string]string

func (e env) lookup(name string) (string, bool) { v, ok := e[name]; return v, ok }

func TestVisibleSlices(t *testing.T) {
	sliced := func() *Report {
		r := nvidia("aa11")
		r.Devices[0].MIG = true
		r.Devices[0].Slices = []Slice{
			{UUID: "MIG-one", GPUInstance: 2, Total: 5, Free: 4}, {UUID: "MIG-two", GPUInstance: 9, ComputeInstance: 1, Total: 3, Free: 3},
		}
		return r
	}
	tests := []struct {
		env  env
		want []int
	}{
		{env{}, []int{Hidden, 0, Hidden}},
		{env{"CUDA_VISIBLE_DEVICES": "0"}, []int{Hidden, 0, Hidden}},
		{env{"CUDA_VISIBLE_DEVICES": "MIG-two"}, []int{Hidden, Hidden, 0}},
		{env{"CUDA_VISIBLE_DEVICES": "MIG-GPU-aa11/9/1"}, []int{Hidden, Hidden, 0}},
		{env{"CUDA_VISIBLE_DEVICES": "MIG-three"}, []int{Hidden, Hidden, Hidden}},
	}
	for _, tt := range tests {
		m := Detect(context.Background(), []Source{source{"x", NVIDIA, sliced(), nil}})
		m.Limit(tt.env.lookup)
		if diff := cmp.Diff(tt.want, ordinals(m)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.env, diff)
		}
	}
}

func TestVisibleAMD(t *testing.T) {
	report := func() *Report {
		return &Report{Devices: []Device{{Maker: AMD, Name: "MI300X"}, {Maker: AMD, Name: "MI300X", Index: 1}}}
	}
	for _, name := range []string{"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"} {
		m := Detect(context.Background(), []Source{source{"x", AMD, report(), nil}})
		m.Limit(env{name: "1"}.lookup)
		if diff := cmp.Diff([]int{Hidden, 0}, ordinals(m)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestUnlikeCards(t *testing.T) {
	r := nvidia("a", "b")
	r.Devices[1].Name = "NVIDIA A10"
	for order, want := range map[string]int{"": 1, "FASTEST_FIRST": 1, "PCI_BUS_ID": 0} {
		m := Detect(context.Background(), []Source{source{"x", NVIDIA, r, nil}})
		m.Limit(env{"CUDA_DEVICE_ORDER": order}.lookup)
		if len(m.Notes) != want {
			t.Errorf("%q: %v", order, m.Notes)
		}
	}
}

func TestPlaces(t *testing.T) {
	r := nvidia("aa11", "bb22")
	r.Devices[0].Total, r.Devices[0].Free = 140*units.GiB, 100*units.GiB
	m := Detect(context.Background(), []Source{source{"x", NVIDIA, r, nil}})
	m.Limit(env{"CUDA_VISIBLE_DEVICES": "1,0"}.lookup)
	places := m.Visible()
	if len(places) != 2 || places[1].Name != "H200" || places[1].Total != 140*units.GiB || places[1].Free != 100*units.GiB {
		t.Errorf("%+v", places)
	}
}

func TestCardOfDevice(t *testing.T) {
	unknown := Device{Maker: NVIDIA, Name: "NVIDIA GeForce RTX 4090 Laptop GPU", Total: 15 * units.GiB, Arch: "sm_89", Capability: 89}
	c := unknown.Card()
	if c.Name != unknown.Name || c.Total != unknown.Total || c.Capability != 89 || c.Measured {
		t.Errorf("%+v", c)
	}
	whole := Device{Maker: NVIDIA, Name: "NVIDIA A100-SXM4-40GB", Total: 40 * units.GiB}
	s := Slice{Profile: "3g.20gb", Total: 20 * units.GiB, SMs: 54}.Card(whole)
	if s.Name != "A100-40GB MIG 3g.20gb" || s.Total != 20*units.GiB || s.SMs != 54 || s.Rates.BF16 != 156e12 || s.Bandwidth != 1555e9/2 {
		t.Errorf("%+v", s)
	}
}

func FuzzVisibleDevices(f *testing.F) {
	for _, s := range []string{"0,1", "", "-1", "GPU-aa,MIG-x", "1,1", "MIG-GPU-aa/1/2", ",,", "0x1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		r := nvidia("aa11", "bb22")
		r.Devices[1].MIG, r.Devices[1].Slices = true, []Slice{{UUID: "MIG-one"}}
		m := Detect(context.Background(), []Source{source{"x", NVIDIA, r, nil}})
		m.Limit(env{"CUDA_VISIBLE_DEVICES": value}.lookup)
		seen := map[int]bool{}
		for _, o := range ordinals(m) {
			if o != Hidden && seen[o] {
				t.Errorf("%q: cuda:%d twice", value, o)
			}
			seen[o] = true
		}
	})
}
