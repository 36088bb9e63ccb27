// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64) && !static

package nvml

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/gpu"
	"snug/internal/units"
)

// fake compiles testdata/fake.c, so that calls go through the real loader and the real memory layouts.
func fake(t *testing.T, flags ...string) string {
	t.Helper()
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler")
	}
	lib := filepath.Join(t.TempDir(), "libfake.so")
	out, err := exec.Command(compiler, append(flags, "-shared", "-fPIC", "-o", lib, "testdata/fake.c")...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return lib
}

func TestReport(t *testing.T) {
	r, err := Source{Paths: []string{"/no/such/lib.so", fake(t)}}.Report(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	const m = units.MiB
	want := &gpu.Report{Driver: "580.159.04", Runtime: "13.0", Devices: []gpu.Device{
		{
			Maker: gpu.NVIDIA, Index: 0, Name: "NVIDIA H200", UUID: "GPU-aaaa", Bus: "00000000:04:00.0",
			Total: 143157 * m, Reserved: 614 * m, Used: 1000 * m, Free: 142157 * m, Arch: "sm_90", Capability: 90, ECC: "on",
			Processes: []gpu.Process{{PID: 4321, Name: "/usr/bin/python3", Used: 900 * m}, {PID: 4322}},
		},
		{
			Maker: gpu.NVIDIA, Index: 1, Name: "NVIDIA A100-SXM4-40GB", UUID: "GPU-bbbb", Bus: "00000000:41:00.0",
			Total: 40360 * m, Reserved: 600 * m, Used: 100 * m, Free: 40260 * m, Arch: "sm_80", Capability: 80, ECC: "on", MIG: true,
			Slices: []gpu.Slice{
				{Index: 0, Profile: "3g.20gb", UUID: "MIG-cccc", GPUInstance: 2, Total: 19968 * m, Used: 80 * m, Free: 19888 * m, SMs: 42,
					Processes: []gpu.Process{{PID: 77, Name: "python3", Used: 70 * m}}},
				{Index: 1, Profile: "1g.5gb", UUID: "MIG-dddd", GPUInstance: 9, Total: 4864 * m, Used: 20 * m, Free: 4844 * m, SMs: 14},
			},
		},
	}}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFailedInit uses a library that aborts the process if it is called after its initialization failed.
func TestFailedInit(t *testing.T) {
	_, err := Source{Paths: []string{fake(t, "-DFAIL")}}.Report(context.Background())
	if err == nil || err.Error() != "starting: Driver Not Loaded" {
		t.Errorf("got %v", err)
	}
}

func TestNoLibrary(t *testing.T) {
	_, err := Source{Paths: []string{"/no/such/lib.so"}}.Report(context.Background())
	if err == nil || !strings.Contains(err.Error(), "not installed") {
		t.Errorf("got %v", err)
	}
}

// TestOtherLibrary loads an existing library that is not NVML.
func TestOtherLibrary(t *testing.T) {
	_, err := Source{Paths: []string{"libc.so.6"}}.Report(context.Background())
	if err == nil || !strings.Contains(err.Error(), "lacks NVML") {
		t.Errorf("got %v", err)
	}
}

func TestProfile(t *testing.T) {
	tests := []struct {
		want  string
		a     attributes
		total uint64 // MiB
	}{
		{"1g.10gb", attributes{gpuSlices: 1, computeSlices: 1, memoryMB: 9728}, 81920},
		{"7g.80gb", attributes{gpuSlices: 7, computeSlices: 7, memoryMB: 81037}, 81920},
		{"1c.3g.40gb", attributes{gpuSlices: 3, computeSlices: 1, memoryMB: 40192}, 81920},
		{"1g.12gb", attributes{gpuSlices: 1, computeSlices: 1, memoryMB: 11008}, 95830},
		{"1g.18gb", attributes{gpuSlices: 1, computeSlices: 1, memoryMB: 16384}, 143771},
	}
	for _, tt := range tests {
		if got := profile(tt.a, tt.total*units.MiB); got != tt.want {
			t.Errorf("profile(%+v) = %s, want %s", tt.a, got, tt.want)
		}
	}
}
