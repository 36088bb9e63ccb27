// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64) && !static

package nvml

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"snug/internal/gpu"
	"snug/internal/units"
)

func TestSample(t *testing.T) {
	s, err := Source{Paths: []string{fake(t)}}.Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const m = units.MiB
	second := new(int)
	*second = 1
	want := []gpu.Sample{
		{
			Maker: gpu.NVIDIA, Name: "NVIDIA H200", UUID: "GPU-aaaa", Total: 143771 * m, Reserved: 614 * m, Used: 1000 * m,
			Util: number(37), Power: number(351.234), PowerLimit: number(700), Temperature: number(54), Throttle: []string{"power cap", "heat (hardware)"},
			Processes: []gpu.Process{{PID: 4321, Name: "/usr/bin/python3", Used: 900 * m, Util: number(35)}, {PID: 4322}},
		},
		{
			Maker: gpu.NVIDIA, Index: 1, Slice: new(int), Name: "NVIDIA A100-SXM4-40GB MIG 3g.20gb", UUID: "MIG-cccc", Total: 19968 * m, Used: 80 * m,
			Temperature: number(54), Processes: []gpu.Process{{PID: 77, Name: "python3", Used: 70 * m}},
		},
		{Maker: gpu.NVIDIA, Index: 1, Slice: second, Name: "NVIDIA A100-SXM4-40GB MIG 1g.5gb", UUID: "MIG-dddd", Total: 4864 * m, Used: 20 * m, Temperature: number(54)},
	}
	for range 2 { // names are queried once
		got, err := s.Sample(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestLostGPU loses one GPU from the bus: the other is still sampled.
func TestLostGPU(t *testing.T) {
	s, err := Source{Paths: []string{fake(t, "-DLOST=1")}}.Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, err := s.Sample(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if got[0].Err != nil || got[1].Err == nil || !strings.Contains(got[1].Err.Error(), "fell off the bus") {
		t.Errorf("got %v and %v", got[0].Err, got[1].Err)
	}
}

// TestMissingGPU starts while one GPU is lost: the other is sampled, and the first one too when it is back.
func TestMissingGPU(t *testing.T) {
	s, err := Source{Paths: []string{fake(t, "-DMISSING=2")}}.Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i, want := range []string{"[0: <nil>] [1: it fell off the bus: finding it: Some Error]", "[0: <nil>] [1: <nil>] [1: <nil>]"} {
		got, err := s.Sample(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, x := range got {
			all = append(all, fmt.Sprintf("[%d: %v]", x.Index, x.Err))
		}
		if strings.Join(all, " ") != want {
			t.Errorf("sample %d: %v", i, all)
		}
	}
}

// TestLostDriver has a driver that no longer responds for any GPU.
func TestLostDriver(t *testing.T) {
	s, err := Source{Paths: []string{fake(t, "-DLOST=-1")}}.Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Sample(context.Background()); !errors.Is(err, gpu.ErrLost) {
		t.Errorf("got %v", err)
	}
}

func TestSampleFailedInit(t *testing.T) {
	if _, err := (Source{Paths: []string{fake(t, "-DFAIL")}}).Open(context.Background()); err == nil {
		t.Error("no error")
	}
}

type counted struct {
	library
	calls int
}

func (l *counted) ProcessUse(handle, uint64) ([]processUse, code) {
	l.calls++
	return []processUse{{pid: 7, percent: l.calls, stamp: uint64(l.calls)}}, success
}

// Asking for the load of processes costs as much as the rest of a sample, and the driver measures it only a few times a second.
func TestLoadIsAskedOnceASecond(t *testing.T) {
	l, u, start := &counted{}, &use{newest: map[int]used{}}, time.Unix(1000, 0)
	for i := range 30 {
		u.ask(l, 0, start.Add(time.Duration(i)*100*time.Millisecond))
	}
	if l.calls != 3 {
		t.Errorf("asked %d times in 30 samples over 3 seconds, want 3", l.calls)
	}
	if got := u.of(7); got == nil || *got != 3 {
		t.Errorf("load %v, want the newest, 3", got)
	}
	u.ask(l, 0, start.Add(-time.Hour)) // the clock was set back
	if l.calls != 4 {
		t.Error("not asked after the clock was set back")
	}
}
