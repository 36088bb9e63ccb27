// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"snug/internal/snapshot"
)

// entry returns one entry of a pickled trace.
func entry(action string, addr, size uint64) []byte {
	out := []byte("}(\x8c\x06action\x8c" + string(rune(len(action))) + action + "\x8c\x04addr\x8a\x08")
	out = binary.LittleEndian.AppendUint64(out, addr)
	out = append(out, "\x8c\x04size\x8a\x08"...)
	out = binary.LittleEndian.AppendUint64(out, size)
	return append(out, 'u')
}

// recorded returns a snapshot with a trace and nothing left at its end.
func recorded(trace [][]byte) []byte {
	out := []byte("\x80\x04}(\x8c\x08segments]\x8c\rdevice_traces](](")
	out = append(out, bytes.Join(trace, nil)...)
	return append(out, "eeu."...)
}

// played returns the time to read and replay a recording: the shortest of three.
func played(t *testing.T, file []byte) time.Duration {
	t.Helper()
	best := time.Duration(1 << 62)
	for range 3 {
		begin := time.Now()
		rec, err := snapshot.Read(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Run(rec, rec.Busiest(), Options{}); err != nil {
			t.Fatal(err)
		}
		best = min(best, time.Since(begin))
	}
	return best
}

// TestChosenAddresses checks that the time for a recording depends on its number of entries, not on their addresses.
// Quadratic behavior would take at least a hundred times as long here.
func TestChosenAddresses(t *testing.T) {
	const n = 40_000
	plain := make([][]byte, n)
	for i := range plain {
		plain[i] = entry("alloc", uint64(i+1)<<9, 512)
	}
	usual := played(t, recorded(plain))
	fibonacci := uint64(86267571272) // multiples of it collide in a hash that multiplies by the golden ratio
	for name, at := range map[string]func(i uint64) []byte{
		"collide in a table": func(i uint64) []byte { return entry("alloc", (i+1)*fibonacci<<9, 512) },
		"freed upward":       func(i uint64) []byte { return entry("segment_free", 1<<40+i<<25, 20<<20) },
		"unmapped upward":    func(i uint64) []byte { return entry("segment_unmap", 1<<40+i<<26, 20<<20) },
	} {
		chosen := make([][]byte, n)
		for i := range chosen {
			chosen[i] = at(uint64(i))
		}
		if took := played(t, recorded(chosen)); took > 30*usual {
			t.Errorf("%s: %v, but %v for usual addresses", name, took, usual)
		}
	}
}
