// SPDX-License-Identifier: Apache-2.0

package rocm

import (
	"context"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"snug/internal/gpu"
)

func num(x float64) *float64 { return &x }

func TestSysfsSample(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text + "\n")} }
	root := fstest.MapFS{
		"sys/class/drm/card0/device/vendor":                      file("0x10de"),
		"sys/class/drm/card1/device/vendor":                      file("0x1002"),
		"sys/class/drm/card1/device/device":                      file("0x74a1"),
		"sys/class/drm/card1/device/mem_info_vram_total":         file("206141652992"),
		"sys/class/drm/card1/device/mem_info_vram_used":          file("1048576"),
		"sys/class/drm/card1/device/gpu_busy_percent":            file("83"),
		"sys/class/drm/card1/device/hwmon/hwmon3/power1_average": file("512000000"),
		"sys/class/drm/card1/device/hwmon/hwmon3/power1_cap":     file("750000000"),
		"sys/class/drm/card1/device/hwmon/hwmon3/temp1_input":    file("61500"),
		"sys/class/drm/card1/device/drm/renderD128/dev":          file("226:128"),
		"sys/class/kfd/kfd/topology/nodes/1/gpu_id":              file("4711"),
		"sys/class/kfd/kfd/topology/nodes/1/properties":          file("drm_render_minor 128"),
		"sys/class/kfd/kfd/proc/99/vram_4711":                    file("900000"),
		"proc/99/comm":                                           file("python3"),
	}
	s, err := Sysfs{root}.Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, err := s.Sample(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	want := []gpu.Sample{{
		Maker: gpu.AMD, Name: "AMD GPU 0x74a1", Total: 206141652992, Used: 1048576, Util: num(83), Power: num(512), PowerLimit: num(750), Temperature: num(61.5),
		Processes: []gpu.Process{{PID: 99, Name: "python3", Used: 900000}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseMetrics(t *testing.T) {
	tests := map[string]gpu.Sample{
		`[{"gpu": 0, "usage": {"gfx_activity": {"value": 97, "unit": "%"}}, "power": {"socket_power": {"value": 640, "unit": "W"}},
		   "temperature": {"edge": "N/A", "hotspot": {"value": 71, "unit": "C"}},
		   "mem_usage": {"total_vram": {"value": 196592, "unit": "MB"}, "used_vram": {"value": 283, "unit": "MB"}}}]`: {
			Maker: gpu.AMD, Total: 196592 * m, Used: 283 * m, Util: num(97), Power: num(640), Temperature: num(71),
		},
		`{"gpu_data": [{"gpu": 3, "usage": "N/A", "mem_usage": {"total_vram": "1 MB", "used_vram": "0 MB"}}]}`: {
			Maker: gpu.AMD, Index: 3, Total: m,
		},
	}
	for text, want := range tests {
		got, err := parseMetrics([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]gpu.Sample{want}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
