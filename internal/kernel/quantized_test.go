// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestFuses4bit compares the choice of kernel with that of bitsandbytes 0.50.2: each line of the file is a card,
// a type, the shape of a weight, and the row counts for which _gemm_4bit_use_custom_cuda selects one kernel.
func TestFuses4bit(t *testing.T) {
	tried := []int{4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 16, 17, 23, 24, 32, 33, 48, 49, 64, 65, 96, 97, 128, 129, 192, 193, 256, 257, 320, 321, 384, 385, 512, 513, 1536, 1537}
	types := map[string]Type{"bf16": BFloat16, "fp16": Float16, "fp32": Float32}
	f, err := os.Open("testdata/quantized_kernels.txt.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for sc := bufio.NewScanner(z); sc.Scan(); lines++ {
		var arch, sms, n, k int
		var dtype string
		if _, err := fmt.Sscan(sc.Text(), &arch, &sms, &dtype, &n, &k); err != nil {
			t.Fatal(err)
		}
		var rows []string
		for _, m := range tried {
			if (Rules{Capability: arch, SMs: sms}).Fuses4bit(types[dtype], m, n, k) {
				rows = append(rows, fmt.Sprint(m))
			}
		}
		want := sc.Text()[strings.LastIndexByte(sc.Text(), ' ')+1:]
		if got := strings.Join(rows, ","); got != want {
			t.Errorf("%s:\n got %s", sc.Text(), got)
		}
	}
	if lines < 1000 {
		t.Errorf("only %d lines were read", lines)
	}
}

// TestFuses4bitWantsWholeBlocks checks that a weight whose inputs do not fill whole blocks is always dequantized.
func TestFuses4bitWantsWholeBlocks(t *testing.T) {
	if (Rules{Capability: 90, SMs: 132}).Fuses4bit(BFloat16, 1, 4096, 4100) {
		t.Error("4100 inputs, which do not fill whole blocks, use one kernel")
	}
}
