// SPDX-License-Identifier: Apache-2.0

package smi

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/gpu"
	"snug/internal/units"
)

// recorded answers from files: one each for --query-gpu, --query-compute-apps, -q and -L; "" means that the program
// fails.
func recorded(t *testing.T, gpus, apps, long, list string) Source {
	return Source{Run: func(_ context.Context, name string, args ...string) ([]byte, error) {
		if name != "nvidia-smi" {
			t.Errorf("asked %s", name)
		}
		file := map[string]string{"--query-gpu": gpus, "--query-compute-apps": apps, "-q": long, "-L": list}[strings.SplitN(args[0], "=", 2)[0]]
		if file == "" {
			return nil, errors.New("exit status 2")
		}
		data, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		return data, nil
	}}
}

const m = units.MiB

func TestShort(t *testing.T) {
	r, err := recorded(t, "gpus.csv", "apps.csv", "", "").Report(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	want := &gpu.Report{Driver: "580.159.04", Devices: []gpu.Device{
		{
			Maker: gpu.NVIDIA, Name: "NVIDIA H200", UUID: "GPU-8f2d5a10-3c4e-9b7a-1f60-52c7e8d94a01", Bus: "00000000:04:00.0",
			Total: 143157 * m, Reserved: 614 * m, Used: 62310 * m, Free: 80847 * m, Arch: "sm_90", Capability: 90, ECC: "on",
			Processes: []gpu.Process{{PID: 20314, Name: "/opt/conda/bin/python3.12", Used: 61544 * m}, {PID: 20990, Name: "python train.py --name a, b"}},
		},
		{
			Maker: gpu.NVIDIA, Index: 1, Name: "NVIDIA H200", UUID: "GPU-0b71c6ee-9d02-4f35-8a1b-7e9f30c2d415", Bus: "00000000:23:00.0",
			Total: 143157 * m, Reserved: 614 * m, Free: 143157 * m, Arch: "sm_90", Capability: 90, ECC: "on",
		},
	}}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// The memory that the driver leaves matches the total that PyTorch reported on this card.
	if got, known := r.Devices[1].Total, gpu.Reference.Total; known > got || got-known > m {
		t.Errorf("usable %d, measured %d", got, known)
	}
}

func TestCardsWithoutECC(t *testing.T) {
	r, err := recorded(t, "geforce.csv", "", "", "").Report(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	d := r.Devices[0]
	if d.ECC != "" || d.MIG || d.Total != 24168*m || len(d.Processes) != 0 {
		t.Errorf("%+v", d)
	}
}

// TestSlices reads the long answer because the short one reports MIG, and also if the driver does not support a field
// of the short one.
func TestSlices(t *testing.T) {
	want := []gpu.Slice{
		{
			Index: 0, Profile: "3g.20gb", UUID: "MIG-e7c2f4a1-0b5d-5a2e-9c11-2d3e4f5a6b7c", GPUInstance: 2,
			Total: 19968 * m, Used: 8037 * m, Free: 11931 * m, SMs: 42, Processes: []gpu.Process{{PID: 31337, Name: "python3", Used: 8010 * m}},
		},
		{Index: 1, Profile: "1g.5gb", UUID: "MIG-1f0d9c8b-7a6e-5544-b332-2110ffeeddcc", GPUInstance: 9, Total: 4864 * m, Used: 12 * m, Free: 4852 * m, SMs: 14},
	}
	for _, short := range []string{"mig.csv", ""} {
		r, err := recorded(t, short, "", "mig.xml", "mig.list").Report(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, r.Devices[0].Slices); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if r.Runtime != "12.4" || r.Driver != "550.54.15" || r.Devices[0].Capability != 80 || r.Devices[0].Total != 40336*m {
			t.Errorf("%+v", r)
		}
	}
}

func TestSlicesLost(t *testing.T) {
	r, err := recorded(t, "mig.csv", "", "", "").Report(context.Background())
	if err != nil || !r.Devices[0].MIG || r.Devices[0].Slices != nil {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestBadAnswers(t *testing.T) {
	bad := map[string]string{
		"":             "lists no GPU",
		"0, GPU-1, x":  "has 3 columns",
		"No devices\n": "has 1 columns",
		"x, u, b, 1, 1, 1, 1, 9.0, a, b, 5, name":     `index "x"`,
		"0, u, b, [N/A], 1, 1, 1, 9.0, a, b, 5, name": "memory",
	}
	for text, want := range bad {
		_, err := parseCSV([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q in it", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                                  "XML",
		"<nvidia_smi_log></nvidia_smi_log>": "lists no GPU",
		"<nvidia_smi_log><gpu><fb_memory_usage><total>GPU is lost</total></fb_memory_usage></gpu></nvidia_smi_log>": "memory of GPU 0",
	} {
		_, err := parseXML([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q in it", text, err, want)
		}
	}
}

func seed(f *testing.F, files ...string) {
	for _, name := range files {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
}

// sane checks properties that any accepted answer has.
func sane(t *testing.T, r *gpu.Report, err error) {
	if (err == nil) != (r != nil) || r != nil && len(r.Devices) == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if r == nil {
		return
	}
	for _, d := range r.Devices {
		if d.Total > 1<<62 || d.Unclaimed() > d.Used {
			t.Errorf("%+v", d)
		}
		d.Card()
	}
}

func FuzzCSV(f *testing.F) {
	seed(f, "gpus.csv", "geforce.csv", "mig.csv", "apps.csv")
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parseCSV(data)
		sane(t, r, err)
		if r != nil {
			addApps(r, data)
		}
	})
}

func FuzzXML(f *testing.F) {
	seed(f, "mig.xml", "mig.list")
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parseXML(data)
		sane(t, r, err)
		if r != nil {
			addSliceNames(r, data)
		}
	})
}
