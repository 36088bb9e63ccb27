// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/units"
)

func TestFind(t *testing.T) {
	tests := []struct{ name, want string }{
		// as people write them
		{"rtx4090", "RTX-4090"}, {"4090", "RTX-4090"}, {"RTX 4090", "RTX-4090"}, {"geforce_rtx_4090", "RTX-4090"},
		{"4070ti", "RTX-4070-Ti"}, {"4070 ti super", "RTX-4070-Ti-Super"}, {"a100-40", "A100-40GB"}, {"A100 80", "A100-80GB"},
		{"a100 80gb pcie", "A100-80GB-PCIe"}, {"A100-PCIE-80GB", "A100-80GB-PCIe"}, {"h100", "H100-80GB"}, {"H100 SXM", "H100-80GB"},
		{"h100-pcie", "H100-PCIe"}, {"h100nvl", "H100-NVL"}, {"v100-32", "V100-32GB"}, {"a6000", "RTX-A6000"},
		{"rtx 6000 ada", "RTX-6000-Ada"}, {"quadro rtx 6000", "Quadro-RTX-6000"}, {"Quadro 8000", "Quadro-RTX-8000"},
		{"a10", "A10"}, {"A10G", "A10G"}, {"l4", "L4"}, {"l40", "L40"}, {"L40s", "L40S"}, {"mi300x", "MI300X"}, {"mi250", "MI250"},
		{"7900xtx", "RX-7900-XTX"}, {"gh200", "GH200"}, {"3080", "RTX-3080"}, {"rtx pro 6000", "RTX-PRO-6000"},
		// as drivers print them
		{"NVIDIA A100-SXM4-80GB", "A100-80GB"}, {"NVIDIA A100-SXM4-40GB", "A100-40GB"}, {"NVIDIA A100-PCIE-40GB", "A100-40GB-PCIe"},
		{"NVIDIA A100 80GB PCIe", "A100-80GB-PCIe"}, {"NVIDIA H100 80GB HBM3", "H100-80GB"}, {"NVIDIA H100 PCIe", "H100-PCIe"},
		{"NVIDIA H100 NVL", "H100-NVL"}, {"NVIDIA H200", "H200"}, {"NVIDIA GH200 480GB", "GH200"}, {"NVIDIA GH200 144G HBM3e", "GH200-144GB"},
		{"NVIDIA B200", "B200"}, {"Tesla T4", "T4"}, {"Tesla V100-SXM2-16GB", "V100-16GB"}, {"Tesla V100-SXM3-32GB", "V100-32GB"},
		{"Tesla V100-PCIE-32GB", "V100-32GB-PCIe"}, {"Tesla V100S-PCIE-32GB", "V100S-32GB"}, {"Tesla P100-PCIE-16GB", "P100"},
		{"NVIDIA GeForce RTX 3090 Ti", "RTX-3090-Ti"}, {"NVIDIA GeForce RTX 4090 D", "RTX-4090-D"}, {"NVIDIA RTX A6000", "RTX-A6000"},
		{"NVIDIA RTX 6000 Ada Generation", "RTX-6000-Ada"}, {"NVIDIA RTX 4000 SFF Ada Generation", "RTX-4000-SFF-Ada"},
		{"Quadro RTX 6000", "Quadro-RTX-6000"}, {"NVIDIA TITAN RTX", "TITAN-RTX"},
		{"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "RTX-PRO-6000"},
		{"NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "RTX-PRO-6000-Max-Q"},
		{"NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX-PRO-6000-Server"},
		{"AMD Instinct MI250X/MI250", "MI250X"}, {"AMD Instinct MI250X / MI250", "MI250X"}, {"AMD Instinct MI300X OAM", "MI300X"},
		{"AMD Radeon RX 7900 XTX", "RX-7900-XTX"},
	}
	for _, tt := range tests {
		c, err := Find(tt.name)
		if err != nil || c.Name != tt.want {
			t.Errorf("Find(%q) = %q, %v; want %s", tt.name, c.Name, err, tt.want)
		}
	}
}

func TestFindEveryName(t *testing.T) {
	names := map[string]bool{}
	for _, c := range Cards() {
		if got, err := Find(c.Name); err != nil || got != c {
			t.Errorf("Find(%q) = %q, %v", c.Name, got.Name, err)
		}
		if names[c.Name] {
			t.Errorf("%s is there twice", c.Name)
		}
		names[c.Name] = true
	}
}

func TestFindRefuses(t *testing.T) {
	tests := []struct{ name, want string }{
		{"A100", "matches several cards: A100-80GB, A100-80GB-PCIe, A100-40GB and A100-40GB-PCIe; name one"},
		{"v100", "matches several cards: V100-32GB"},
		{"48GB", "is only a size, which several cards have: A40 (44.34 GiB), "},
		{"48", "RTX-A6000 (47.40 GiB); name one; or give --gpu-memory 48"},
		{"rtx 6000", "matches several cards: RTX-PRO-6000,"},
		{"4060 ti", "matches several cards: RTX-4060-Ti-16GB and RTX-4060-Ti-8GB"},
		{"rtx 4909", "did you mean RTX-4090"},
		{"H300", "did you mean B300, H200 or H800?"},
		{"NVIDIA GeForce RTX 4090 Laptop GPU", "unknown GPU"},
		{"A100-SXM-64GB", "unknown GPU"},
		{"mi300", "did you mean"},
		{"", `unknown GPU ""; snug gpus --all`},
		{"rtx", "snug gpus --all"},
		{"a very long name that is nothing like any", "snug gpus --all"},
	}
	for _, tt := range tests {
		c, err := Find(tt.name)
		if err == nil {
			t.Errorf("Find(%q) = %s, want an error", tt.name, c.Name)
			continue
		}
		if !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Find(%q): %v; want %q in it", tt.name, err, tt.want)
		}
	}
}

// TestCatalog checks what must be true of any card, to find typos in a row.
func TestCatalog(t *testing.T) {
	for _, c := range Cards() {
		sold := float64(c.Memory) * units.GiB
		if share := float64(c.Total) / sold; share < 0.90 || share > 1 {
			t.Errorf("%s: usable memory is %.3f of the nominal size", c.Name, share)
		}
		if c.SMs < 10 || c.Bandwidth < 100e9 || c.Bandwidth > 10e12 {
			t.Errorf("%s: %d multiprocessors, %.0f GB/s", c.Name, c.SMs, c.Bandwidth/1e9)
		}
		r := c.Rates
		if r.FP32 < 1e12 || r.FP16 < r.FP32 || r.FP8 != 0 && math.Abs(r.FP8/r.FP16-2) > 0.05 {
			t.Errorf("%s: rates %+v", c.Name, r)
		}
		if c.Maker == NVIDIA && (c.Capability < 60 || (r.BF16 > 0) != (c.Capability >= 80) || (r.FP8 > 0) != (c.Capability >= 89)) {
			t.Errorf("%s: compute capability %d with rates %+v", c.Name, c.Capability, r)
		}
		if c.Measured != (c.Name == "H200") {
			t.Errorf("%s: context marked as measured: %v", c.Name, c.Measured)
		}
	}
}

// find returns a card that must exist.
func find(t *testing.T, name string) Card {
	t.Helper()
	c, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestReferenceIsOfTheCatalog(t *testing.T) {
	if want := find(t, "H200"); Reference != want {
		t.Errorf("the reference is %+v, want %+v", Reference, want)
	}
}

// TestAssumedTotals checks the rule for totals on the cards for which both nvidia-smi's and PyTorch's totals are
// known.
func TestAssumedTotals(t *testing.T) {
	shown := map[string]uint64{
		"B200": 183359, "H200": 143771, "H100-80GB": 81559, "A100-80GB": 81920, "A100-40GB": 40960, "L40S": 46068, "L4": 23034,
		"A10G": 23028, "A40": 46068, "T4": 15360, "V100-32GB": 32768, "V100-16GB": 16384, "RTX-A6000": 49140, "RTX-6000-Ada": 49140,
		"RTX-5090": 32607, "RTX-4090": 24564, "RTX-3090": 24576, "RTX-3080": 10240, "RTX-3060": 12288, "RTX-2080-Ti": 11264,
	}
	for name, mib := range shown {
		c := find(t, name)
		if !c.Seen {
			t.Errorf("%s: not seen", name)
		}
		if off := float64(fromSMI(mib).bytes)/float64(c.Total) - 1; math.Abs(off) > 0.015 {
			t.Errorf("%s: rule gives %v, seen %v (%+.2f %%)", name, units.Bytes(fromSMI(mib).bytes), units.Bytes(c.Total), 100*off)
		}
	}
}

func TestWhatCardsCanDo(t *testing.T) {
	type can struct{ BF16, TF32, FP8, Flash bool }
	tests := map[string]can{
		"T4": {}, "V100-32GB": {}, "P100": {}, "A100-40GB": {true, true, false, true}, "RTX-3090": {true, true, false, true},
		"RTX-4090": {true, true, true, true}, "H200": {true, true, true, true}, "MI250X": {true, false, false, true}, "MI100": {BF16: true},
	}
	for name, want := range tests {
		c := find(t, name)
		got := can{c.BF16(), c.TF32(), c.FP8(), c.Flash()}
		if got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
		if first := c.Precisions()[0]; (first == "bf16") != want.BF16 {
			t.Errorf("%s: first precision %s", name, first)
		}
	}
}

// smallest returns the least memory among cards with this nominal size in GB.
func smallest(sold int) uint64 {
	var all []uint64
	for _, c := range Cards() {
		if c.Memory == sold {
			all = append(all, c.Total)
		}
	}
	return slices.Min(all)
}

// A bare number is the size printed on the box: a T4 of 16 GB offers 14.6 GiB.
func TestSized(t *testing.T) {
	c, err := Sized("16")
	if gib := float64(c.Total) / float64(units.GiB); err != nil || gib < 14.5 || gib > 14.6 || !c.Least || c.Memory != 16 || !c.Unnamed {
		t.Errorf("Sized(16) = %+v, %v", c, err)
	}
	if c, err := Sized("16GiB"); err != nil || c.Total != 16*units.GiB || c.Least {
		t.Errorf("Sized(16GiB) = %+v, %v", c, err)
	}
	if _, err := Sized("x"); err == nil {
		t.Error("x is a size")
	}
}

func TestParseMemory(t *testing.T) {
	good := map[string]uint64{"24": smallest(24), "16": smallest(16), "22": 22 * units.GiB, "24GiB": 24 * units.GiB, "24GB": 24e9, "24 gb": 24e9, "0.5": units.GiB / 2, "24564MiB": 24564 * units.MiB}
	for text, want := range good {
		if got, err := ParseMemory(text); err != nil || got != want {
			t.Errorf("ParseMemory(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	bad := map[string]string{
		"24000": "if that is in MiB, write 24000MiB", "81920": "MiB",
		"0": "nothing fits into 0 bytes", "0GiB": "nothing fits", "-1": "is negative", "-24GB": "is negative",
		"24XB": "is not a size", "": "is not a size", "NaN": "is not a size", "-x": "is not a size", "1e30": "out of range",
	}
	for text, want := range bad {
		_, err := ParseMemory(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseMemory(%q): %v; want %q in it", text, err, want)
		}
	}
}

func TestForMemory(t *testing.T) {
	c := ForMemory(24 * units.GiB)
	want := Reference
	want.Name, want.Total, want.Memory, want.Measured, want.Unnamed = "24.00 GiB GPU", 24*units.GiB, 24, false, true
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzFind(f *testing.F) {
	for _, s := range []string{"rtx4090", "A100", "", "--", "ÄÖ 4090", "NVIDIA A100-SXM4-80GB MIG 1g.10gb"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		c, err := Find(name)
		if (err == nil) != (c.Name != "") {
			t.Errorf("Find(%q) = %q, %v", name, c.Name, err)
		}
	})
}

// TestLinks checks that every name in the link table is a card.
func TestLinks(t *testing.T) {
	known := map[string]Card{}
	for _, c := range Cards() {
		known[c.Name] = c
	}
	for name := range links {
		if _, ok := known[name]; !ok {
			t.Errorf("%s has a link and is not in the catalog", name)
		}
	}
	for name, want := range map[string]float64{"A100-80GB": 300e9, "A100-80GB-PCIe": 32e9, "RTX-4090": 16e9, "RTX-3090": 32e9, "H100-PCIe": 64e9} {
		if got := known[name].Link; got != want {
			t.Errorf("%s: %v bytes a second, want %v", name, got, want)
		}
	}
}
