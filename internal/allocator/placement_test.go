// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/units"
)

// segmentEvent is a recorded cudaMalloc or cudaFree, in MiB. The address is relative to the end of the context's
// chunk, so that recordings with different address space layouts can be compared.
type segmentEvent struct {
	freed bool
	size  int
	addr  int
}

// recordedPlacements reads testdata/placements.txt.gz, which has one recording per line: its name, then size@address
// for every segment allocated and -size@address for every one freed.
func recordedPlacements(t *testing.T) map[string][]segmentEvent {
	t.Helper()
	f, err := os.Open("testdata/placements.txt.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string][]segmentEvent)
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, units.MiB)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		out[words[0]] = segmentEvents(t, words[1:])
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func segmentEvents(t *testing.T, words []string) []segmentEvent {
	t.Helper()
	out := make([]segmentEvent, len(words))
	for i, w := range words {
		e := &out[i]
		if _, err := fmt.Sscanf(w, "%d@%d", &e.size, &e.addr); err != nil {
			t.Fatalf("%q: %v", w, err)
		}
		e.freed, e.size = e.size < 0, max(e.size, -e.size)
	}
	return out
}

// follow replays a recording's requests on a new Driver, and returns the recorded and the placed addresses.
func follow(t *testing.T, events []segmentEvent) (recorded, placed []int) {
	t.Helper()
	d := NewDriver(1<<40, 0)
	live := make(map[int]uint64)
	for _, e := range events {
		bytes := uint64(e.size) * units.MiB
		if e.freed {
			d.Give(live[e.addr], bytes)
			continue
		}
		addr, ok := d.Take(bytes)
		if !ok {
			t.Fatalf("Take(%d MiB) found no memory", e.size)
		}
		live[e.addr] = addr
		recorded, placed = append(recorded, e.addr), append(placed, fromContext(addr))
	}
	return recorded, placed
}

func fromContext(addr uint64) int { return (int(addr) - contextEnd) / units.MiB }

// TestDriverOrder compares the order of addresses, pair by pair. The match cannot be perfect, because the memory of
// libraries is only guessed.
func TestDriverOrder(t *testing.T) {
	right, pairs := 0, 0
	for name, events := range recordedPlacements(t) {
		recorded, placed := follow(t, events)
		r, p := 0, 0
		for i := range recorded {
			for j := range i {
				if p++; (recorded[i] < recorded[j]) == (placed[i] < placed[j]) {
					r++
				}
			}
		}
		share := float64(r) / float64(p)
		t.Logf("%-60s %4d segments, %.2f %% in order", name, len(recorded), 100*share)
		if share < 0.8 {
			t.Errorf("%s: %.2f %% of the pairs in order, want at least 80", name, 100*share)
		}
		right, pairs = right+r, pairs+p
	}
	if share := float64(right) / float64(pairs); share < 0.975 {
		t.Errorf("%.2f %% of all pairs in order, want at least 97.5", 100*share)
	}
}

// TestDriverRules plays short scripts, one for each rule. The first three are taken from recordings; the others were
// worked out by hand.
func TestDriverRules(t *testing.T) {
	for _, tc := range []struct{ name, script string }{
		{"the first kernel frees the context's chunk", "2@-2 90@-512 20@-416 20@-396"},
		{"a second small segment means a kernel ran", "2@-2 2@-422 2@-420 2@-418 2@-416 20@-414"},
		{"holes are filled, newest chunk first", "2@-2 126@-544 12@-416 2@-550 2@-548 2@-546 2@-404"},
		{"a hole does not reach into the next chunk", "2@-2 90@-512 20@-416 2@-518 2@-516 2@-514 2@-420 2@-418 2@-396"},
		{"an empty chunk is released, and the highest gap is used first",
			"2@-2 126@-544 400@-416 250@-1312 250@-1568 -250@-1312 60@-1120 60@-1184"},
		{"a chunk in partial use keeps its hole",
			"2@-2 126@-544 400@-416 250@-1312 2@-1062 -250@-1312 60@-1312 90@-1252 12@-1162"},
		{"a handle goes before its workspace", "2@-2 126@-544 20@-416 32@-322 2@-546"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want, got := follow(t, segmentEvents(t, strings.Fields(tc.script)))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("addresses, MiB from the context's end (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDriverAccount(t *testing.T) {
	d := NewDriver(units.GiB, 100*units.MiB)
	if _, ok := d.Take(units.GiB); ok {
		t.Error("Take returned more memory than the card has")
	}
	addr, ok := d.Take(20*units.MiB + 1)
	if !ok {
		t.Fatal("Take(20 MiB) found no memory")
	}
	if free, _ := d.Info(); free != 902*units.MiB {
		t.Errorf("free = %d after 22 MiB, want 902 MiB", free)
	}
	d.Give(addr, 20*units.MiB+1)
	if d.Used() != 0 {
		t.Errorf("used = %d after everything was freed, want 0", d.Used())
	}
}

// TestDriverAdopt restores segments first: one alone at the end of a chunk, where the rest of the context is known,
// and several in a process that has been running for a while.
func TestDriverAdopt(t *testing.T) {
	const end = 0x7f1196000000
	d := NewDriver(1<<40, 0)
	d.Adopt(end-granularity, granularity)
	if addr, _ := d.Take(90 * units.MiB); addr != end-512*units.MiB {
		t.Errorf("after the first segment: %#x, want %#x", addr, uint64(end-512*units.MiB))
	}
	d = NewDriver(1<<40, 0)
	d.Adopt(end, 40*units.MiB)
	d.Adopt(end-100*units.MiB, 20*units.MiB)
	if addr, _ := d.Take(20 * units.MiB); addr != end-160*units.MiB {
		t.Errorf("after two segments: %#x, want %#x", addr, uint64(end-160*units.MiB))
	}
}
