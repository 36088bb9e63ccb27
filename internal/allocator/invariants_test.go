// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"fmt"
	"slices"

	"snug/internal/freeset"
)

// audit checks every block against the sets and the statistics. It defines a consistent allocator.
func audit(a *Allocator) error {
	w := walk{a: a, sets: map[int32]bool{}}
	for i := 1; i < len(a.blocks); i++ {
		if b := &a.blocks[i]; b.size > 0 && b.prev == 0 {
			if err := w.chain(int32(i)); err != nil {
				return err
			}
		}
	}
	if err := w.compareSets(); err != nil {
		return err
	}
	return w.compareStats()
}

type walk struct {
	a    *Allocator
	row  [rows][perPoolCounters]uint64
	sets map[int32]bool // blocks that must be in a set: true in free, false in unmapped
	seen int
}

func (w *walk) add(row, what int, n uint64) {
	w.row[rowAll][what] += n
	w.row[row][what] += n
}

func (w *walk) chain(head int32) error {
	a := w.a
	if b := &a.blocks[head]; b.vrange == 0 {
		w.add(a.pools[b.pool].row, segmentCount, 1)
	}
	for i := head; i != 0; i = a.blocks[i].next {
		w.seen++
		b := &a.blocks[i]
		if next := b.next; next != 0 {
			n := &a.blocks[next]
			switch {
			case n.prev != i:
				return fmt.Errorf("block %d: its successor does not point back", i)
			case n.addr != b.addr+b.size:
				return fmt.Errorf("block %d ends at %#x, but the next begins at %#x", i, b.addr+b.size, n.addr)
			case n.pool != b.pool || n.stream != b.stream || n.vrange != b.vrange:
				return fmt.Errorf("block %d: its successor is in another segment", i)
			case b.idle() && n.idle() && b.mapped() == n.mapped():
				return fmt.Errorf("blocks %d and %d are free neighbors but not merged", i, next)
			}
		}
		w.count(i, b)
	}
	return nil
}

func (w *walk) count(i int32, b *block) {
	row := w.a.pools[b.pool].row
	if !b.mapped() {
		w.sets[i] = false
		return
	}
	w.add(row, reservedBytes, b.size)
	if b.idle() {
		w.sets[i] = true
		if b.split() && b.vrange == 0 {
			w.add(row, inactiveSplit, 1)
			w.add(row, inactiveSplitBytes, b.size)
		}
		return
	}
	w.add(row, active, 1)
	w.add(row, activeBytes, b.size)
	w.add(row, requestedBytes, b.requested)
	if b.flags&flagAllocated != 0 {
		w.add(row, allocation, 1)
		w.add(row, allocatedBytes, b.size)
	}
}

func (w *walk) compareSets() error {
	a, found := w.a, 0
	for _, p := range a.pools {
		if p == nil {
			continue
		}
		free := slices.Clone(a.freeBlocks(p))
		for k, i := range free {
			if mapped, ok := w.sets[i]; !ok || !mapped {
				return fmt.Errorf("block %d is in a free set but not free", i)
			}
			x, y := a.entryOf(i), freeset.Entry{}
			if k+1 < len(free) {
				y = a.entryOf(free[k+1])
			}
			if k+1 < len(free) && a.blocks[i].stream == a.blocks[free[k+1]].stream && y.Less(x) {
				return fmt.Errorf("free set out of order at block %d", i)
			}
			found++
		}
		for _, set := range p.unmapped {
			for _, i := range slices.Concat(set.parts...) {
				if mapped, ok := w.sets[i]; !ok || mapped {
					return fmt.Errorf("block %d is in an unmapped set but not unmapped", i)
				}
				found++
			}
		}
	}
	if found != len(w.sets) {
		return fmt.Errorf("%d blocks in sets, want %d", found, len(w.sets))
	}
	if used := len(a.blocks) - 1 - len(a.spare); used != w.seen {
		return fmt.Errorf("%d slots in use, but %d blocks reached", used, w.seen)
	}
	return nil
}

func (w *walk) compareStats() error {
	s := &w.a.stats
	for r := range w.row {
		for what, want := range w.row[r] {
			got := s.byPool(what)
			stat := [...]Stat{got.All, got.Small, got.Large}[r]
			if stat.Current != want {
				return fmt.Errorf("statistic %d of row %d is %d, but the blocks add up to %d", what, r, stat.Current, want)
			}
			if stat.Peak < stat.Current || stat.Allocated-stat.Freed != stat.Current {
				return fmt.Errorf("statistic %d of row %d does not add up: %+v", what, r, stat)
			}
		}
	}
	all := w.row[rowAll]
	if !(all[reservedBytes] >= all[activeBytes] && all[activeBytes] >= all[allocatedBytes] && all[activeBytes] >= all[requestedBytes]) {
		return fmt.Errorf("reserved %d ≥ active %d ≥ allocated %d does not hold", all[reservedBytes], all[activeBytes], all[allocatedBytes])
	}
	if w.a.total != all[reservedBytes] {
		return fmt.Errorf("total is %d, but reserved is %d", w.a.total, all[reservedBytes])
	}
	return nil
}
