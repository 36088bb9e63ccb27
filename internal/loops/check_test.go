// SPDX-License-Identifier: Apache-2.0

package loops

import "fmt"

// check returns an error if the player's records contradict each other.
func (p *Player) check() error {
	type key struct {
		set  int32
		size uint64
	}
	own, shared := map[key]int{}, map[int32]int{}
	for n := range p.segs {
		i := int32(n)
		s := &p.segs[i]
		if s.set == none {
			continue
		}
		m := p.marks(s)
		if s.own == none {
			shared[s.layout]++
			if p.slots[p.slot(s.addr)] != i {
				return fmt.Errorf("segment %d is not in its slot", i)
			}
		}
		for j := range m[:len(m)-1] {
			if m[j+1].at() <= m[j].at() || !m[j].used() && !m[j+1].used() {
				return fmt.Errorf("segment %d has marks %v", i, m)
			}
			if !m[j].used() && s.own != none {
				own[key{s.set, m[j+1].at() - m[j].at()}]++
			}
		}
		if k := s.next; k != none {
			x := &p.segs[k]
			end, begin := s.addr+m[len(m)-1].at(), x.addr+p.marks(x)[0].at()
			if x.set != s.set || x.prev != i || end != begin || !m[len(m)-2].used() && !p.marks(x)[0].used() {
				return fmt.Errorf("segments %d and %d do not meet: %v, %v", i, k, *s, *x)
			}
		}
	}
	for n := range p.shared {
		l := &p.shared[n]
		if l.members.count != shared[int32(n)] {
			return fmt.Errorf("layout %d has %d members, want %d", n, l.members.count, shared[int32(n)])
		}
	}
	for k, want := range own {
		if got := p.sets[k.set].bin(k.size).own; got != want {
			return fmt.Errorf("%d holes of %d quanta in set %d, want %d", got, k.size, k.set, want)
		}
	}
	for set := range p.sets {
		for n, bins := range p.sets[set].fine {
			for i := 0; bins != nil && i < fineBins; i++ {
				size := uint64(n*fineBins + i)
				if got, want := bins[i].own, own[key{int32(set), size}]; got != want {
					return fmt.Errorf("%d holes of %d quanta in set %d, want %d", got, size, set, want)
				}
			}
		}
		for i, size := range p.sets[set].sizes {
			if got, want := p.sets[set].other[i].own, own[key{int32(set), size}]; got != want {
				return fmt.Errorf("%d holes of %d quanta in set %d, want %d", got, size, set, want)
			}
		}
	}
	return nil
}
