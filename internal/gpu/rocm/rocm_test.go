// SPDX-License-Identifier: Apache-2.0

package rocm

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"snug/internal/gpu"
	"snug/internal/units"
)

const m = units.MiB

// recorded returns answers from testdata, by subcommand or else by program.
func recorded(t *testing.T) Run {
	return func(_ context.Context, name string, args ...string) ([]byte, error) {
		if name == "amd-smi" {
			name = args[0]
		}
		data, err := os.ReadFile("testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		return data, nil
	}
}

func TestAMDSMI(t *testing.T) {
	r, err := AMDSMI{recorded(t)}.Report(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	want := &gpu.Report{Driver: "6.12.12", Devices: []gpu.Device{
		{
			Maker: gpu.AMD, Name: "AMD Instinct MI300X", UUID: "GPU-5f1e2d3c4b5a6978", Bus: "0000:05:00.0", Arch: "gfx942", SMs: 304,
			Total: 196592 * m, Used: 40283 * m, Free: 156309 * m, Processes: []gpu.Process{{PID: 8812, Name: "python3", Used: 40000 * m}},
		},
		{
			Maker: gpu.AMD, Index: 1, Name: "AMD Instinct MI300X", UUID: "GPU-0a1b2c3d4e5f6071", Bus: "0000:26:00.0", Arch: "gfx942", SMs: 304,
			Total: 196592 * m, Used: 283 * m, Free: 196309 * m,
		},
	}}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if c := r.Devices[0].Card(); c.Name != "MI300X" || c.Total != 196592*m {
		t.Errorf("read as %+v", c)
	}
}

func TestAMDSMINotThere(t *testing.T) {
	_, err := AMDSMI{func(context.Context, string, ...string) ([]byte, error) { return nil, errors.New("not installed") }}.Report(context.Background())
	if err == nil {
		t.Error("no error")
	}
}

func TestROCmSMI(t *testing.T) {
	r, err := ROCmSMI{recorded(t)}.Report(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	want := &gpu.Report{Driver: "6.10.5", Devices: []gpu.Device{
		{
			Maker: gpu.AMD, Name: "AMD Radeon RX 7900 XTX", UUID: "GPU-9246a1b2c3d4e5f6", Bus: "0000:03:00.0", Arch: "gfx1100",
			Total: 25753026560, Used: 692142080, Free: 25060884480,
		},
		{Maker: gpu.AMD, Index: 1, Name: "Raphael", Bus: "0000:6D:00.0", Arch: "gfx1036", Total: 536870912, Used: 26079232, Free: 510791680},
	}}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// sys returns the kernel's files on a machine with one unnamed AMD card, an integrated Intel GPU, and one process.
func sys() fstest.MapFS {
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"sys/class/drm/card0/device/vendor":              "0x8086\n",
		"sys/class/drm/card1/device/vendor":              "0x1002\n",
		"sys/class/drm/card1-DP-1/device/vendor":         "0x1002\n",
		"sys/class/drm/card1/device/device":              "0x74a1\n",
		"sys/class/drm/card1/device/unique_id":           "5f1e2d3c4b5a6978\n",
		"sys/class/drm/card1/device/uevent":              "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:05:00.0\n",
		"sys/class/drm/card1/device/mem_info_vram_total": "206141652992\n",
		"sys/class/drm/card1/device/mem_info_vram_used":  "1048576000\n",
		"sys/class/drm/card1/device/drm/renderD128/dev":  "226:128\n",
		"sys/module/amdgpu/version":                      "6.12.12\n",
		"sys/class/kfd/kfd/topology/nodes/0/gpu_id":      "0\n",
		"sys/class/kfd/kfd/topology/nodes/1/gpu_id":      "28851\n",
		"sys/class/kfd/kfd/topology/nodes/1/properties":  "simd_count 1216\nsimd_per_cu 4\ngfx_target_version 90402\ndrm_render_minor 128\n",
		"sys/class/kfd/kfd/proc/8812/vram_28851":         "943718400\n",
		"sys/class/kfd/kfd/proc/8813/vram_28851":         "0\n",
		"proc/8812/comm":                                 "python3\n",
	} {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

func TestSysfs(t *testing.T) {
	r, err := Sysfs{sys()}.Report(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	want := &gpu.Report{Driver: "6.12.12", Devices: []gpu.Device{{
		Maker: gpu.AMD, Name: "AMD GPU 0x74a1", UUID: "GPU-5f1e2d3c4b5a6978", Bus: "0000:05:00.0", Arch: "gfx942", SMs: 304,
		Total: 206141652992, Used: 1048576000, Free: 205093076992, Processes: []gpu.Process{{PID: 8812, Name: "python3", Used: 943718400}},
	}}}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if c := r.Devices[0].Card(); c.Name != "MI300X" {
		t.Errorf("read as %s", c.Name)
	}
	if _, err := (Sysfs{fstest.MapFS{}}).Report(context.Background()); err == nil {
		t.Error("no error for a missing file")
	}
}

func TestArchitecture(t *testing.T) {
	for version, want := range map[int]string{90010: "gfx90a", 90402: "gfx942", 110000: "gfx1100", 0: "", -5: ""} {
		if got := architecture(version); got != want {
			t.Errorf("architecture(%d) = %q, want %q", version, got, want)
		}
	}
}

func TestBadAnswers(t *testing.T) {
	good, err := os.ReadFile("testdata/static.json")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ static, metric, want string }{
		{"", "", "no JSON"},
		{"Traceback (most recent call last):\n  [broken", "[]", "no JSON"},
		{"{}", "[]", "no gpu_data"},
		{"[]", "[]", "lists no GPU"},
		{`[{"gpu": "zero"}]`, "[]", "list of cards"},
		{string(good), "[]", "does not report the memory of GPU 0"},
		{string(good), "{}", "its memory"},
	}
	for _, tt := range tests {
		_, err := parseAMDSMI([]byte(tt.static), []byte(tt.metric))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q in it", tt.static, err, tt.want)
		}
	}
	for text, want := range map[string]string{"WARNING: No JSON data to report": "no JSON", "{}": "lists no GPU", `{"card0": 7}`: "its JSON", `{"card0": {}}`: "memory of GPU 0"} {
		_, err := parseROCmSMI([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q in it", text, err, want)
		}
	}
}

func FuzzAMDSMI(f *testing.F) {
	for _, name := range []string{"static", "metric", "process", "rocm-smi"} {
		data, err := os.ReadFile("testdata/" + name + ".json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, data)
	}
	f.Fuzz(func(t *testing.T, static, metric []byte) {
		for _, parse := range []func() (*gpu.Report, error){
			func() (*gpu.Report, error) { return parseAMDSMI(static, metric) },
			func() (*gpu.Report, error) { return parseROCmSMI(static) },
		} {
			r, err := parse()
			if (err == nil) != (r != nil) {
				t.Fatalf("%+v, %v", r, err)
			}
			if r != nil {
				addProcesses(r, metric)
				for _, d := range r.Devices {
					d.Card()
				}
			}
		}
	})
}
