// SPDX-License-Identifier: Apache-2.0

package script

import (
	"math/bits"
)

// random.Random(seed): the numbers of a seeded generator are those of Python, 3.11 and later (Modules/_randommodule.c,
// Lib/random.py), so what a script chooses with them is known. The module's own generator is not followed, because
// libraries draw from it too.

const (
	twisterWords = 624
	twisterShift = 397
)

// twister is the Mersenne Twister MT19937.
type twister struct {
	state [twisterWords]uint32
	next  int
}

// newTwister is random.Random(seed): its key is the seed's absolute value in words of 32 bits.
func newTwister(seed int) *twister {
	n := uint64(seed)
	if seed < 0 {
		n = -n
	}
	key := []uint32{uint32(n)}
	if high := uint32(n >> 32); high > 0 {
		key = append(key, high)
	}
	t := &twister{next: twisterWords}
	s := &t.state
	s[0] = 19650218
	for i := 1; i < twisterWords; i++ {
		s[i] = 1812433253*(s[i-1]^s[i-1]>>30) + uint32(i)
	}
	i := 1
	step := func() {
		if i++; i == twisterWords {
			s[0], i = s[twisterWords-1], 1
		}
	}
	for k := range twisterWords {
		j := k % len(key)
		s[i] = (s[i] ^ (s[i-1]^s[i-1]>>30)*1664525) + key[j] + uint32(j)
		step()
	}
	for range twisterWords - 1 {
		s[i] = (s[i] ^ (s[i-1]^s[i-1]>>30)*1566083941) - uint32(i)
		step()
	}
	s[0] = 1 << 31
	return t
}

// word returns the next 32 bits.
func (t *twister) word() uint32 {
	if t.next == twisterWords {
		s := &t.state
		for k := range twisterWords {
			y := s[k]&(1<<31) | s[(k+1)%twisterWords]&(1<<31-1)
			s[k] = s[(k+twisterShift)%twisterWords] ^ y>>1 ^ y&1*0x9908b0df
		}
		t.next = 0
	}
	y := t.state[t.next]
	t.next++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// float is random(): a number from 0 to 1, with 53 bits.
func (t *twister) float() float64 {
	a, b := t.word()>>5, t.word()>>6
	return (float64(a)*(1<<26) + float64(b)) / (1 << 53)
}

// bits is getrandbits(k), for k of up to 63.
func (t *twister) bits(k int) (n int) {
	for shift := 0; shift < k; shift += 32 {
		n |= int(t.word()>>(32-min(k-shift, 32))) << shift
	}
	return n
}

// below is _randbelow(n).
func (t *twister) below(n int) int {
	for {
		if r := t.bits(bits.Len(uint(n))); r < n {
			return r
		}
	}
}

// sample is sample(range(n), k).
func (t *twister) sample(n, k int) []int {
	out := make([]int, k)
	size := 21 // the size of a small set
	if k > 5 { // 4 to the power of ceil(log(3k, 4))
		for power := 4; ; power *= 4 {
			if power >= 3*k {
				size += power
				break
			}
		}
	}
	if n <= size {
		pool := make([]int, n)
		for i := range pool {
			pool[i] = i
		}
		for i := range out {
			j := t.below(n - i)
			out[i], pool[j] = pool[j], pool[n-i-1]
		}
		return out
	}
	chosen := map[int]bool{}
	for i := range out {
		j := t.below(n)
		for chosen[j] {
			j = t.below(n)
		}
		chosen[j] = true
		out[i] = j
	}
	return out
}

// shuffle is shuffle(x), given the length of x and a function that exchanges two items.
func (t *twister) shuffle(n int, swap func(i, j int)) {
	for i := n - 1; i > 0; i-- {
		swap(i, t.below(i+1))
	}
}

// generator is a random.Random. Its source is nil if it is not known which numbers it returns.
type generator struct {
	refs
	source *twister
}

func (*generator) release() {}

// newGenerator implements random.Random(seed).
func newGenerator(_ *interpreter, a arguments) value {
	g := &generator{}
	g.seed(a)
	return g
}

func (g *generator) seed(a arguments) {
	g.source = nil
	switch x := a.or(0, "x", a.or(0, "a", nil)).(type) {
	case int:
		g.source = newTwister(x)
	case bool:
		g.source = newTwister(asInt(x))
	}
}

func (g *generator) attr(_ *interpreter, name string) (value, bool) {
	return &bound{self: hold(g), name: name}, true
}

// call runs a method. After one whose use of the generator is not known, those of later ones are unknown. Numbers are
// drawn but not returned: as sizes, they would vary from step to step, and only a few steps are followed.
func (g *generator) call(in *interpreter, name string, a arguments) value {
	if name == "seed" {
		g.seed(a)
		return nil
	}
	out, known := g.draw(in, name, a)
	if !known {
		g.source = nil
	}
	if _, number := out.(int); known && !number {
		return out
	}
	if f, ok := natives["random."+name]; ok {
		return f(in, a)
	}
	return unknown{}
}

// draw runs a method of a generator, and reports whether its use of the generator is known.
func (g *generator) draw(in *interpreter, name string, a arguments) (value, bool) {
	if g.source == nil {
		return nil, false
	}
	switch name {
	case "random", "uniform":
		g.source.float()
		return unknown{}, true
	case "getrandbits":
		k, ok := a.or(0, "k", nil).(int)
		if !ok || k < 0 || k > 63 {
			return nil, false
		}
		return g.source.bits(k), true
	case "randint", "randrange":
		return g.integer(name == "randint", a)
	}
	return g.from(in, name, a)
}

// integer is randint(a, b), or randrange(start, stop, step).
func (g *generator) integer(included bool, a arguments) (value, bool) {
	low, okL := a.or(0, "a", a.or(0, "start", nil)).(int)
	high, okH := a.or(1, "b", a.or(1, "stop", nil)).(int)
	step, okS := a.or(2, "step", 1).(int)
	if _, given := a.get(1, "stop"); !given && !included {
		low, high, okH = 0, low, true
	}
	if included {
		high++
	}
	if !okL || !okH || !okS || step <= 0 || high <= low {
		return nil, false
	}
	return low + step*g.source.below((high-low+step-1)/step), true
}

// from runs a method that chooses from a sequence.
func (g *generator) from(in *interpreter, name string, a arguments) (value, bool) {
	over := a.or(0, "seq", a.or(0, "population", a.or(0, "x", nil)))
	n, at := sequence(over)
	if n == 0 {
		return nil, false
	}
	var chosen []int
	switch k, okK := a.or(1, "k", 1).(int); {
	case name == "choice":
		return at(g.source.below(n)), true
	case name == "shuffle":
		l, isList := over.(*list)
		if isList {
			g.source.shuffle(n, func(i, j int) { l.items[i], l.items[j] = l.items[j], l.items[i] })
		}
		return nil, isList
	case name == "sample" && okK && k >= 0 && k <= n && len(a.names) <= 1:
		chosen = g.source.sample(n, k)
	case name == "choices" && okK && len(a.pos) == 1 && len(a.names) <= 1:
		for range k {
			chosen = append(chosen, int(g.source.float()*float64(n)))
		}
	default:
		return nil, false
	}
	in.grow(len(chosen))
	out := &list{}
	for _, i := range chosen {
		out.items = append(out.items, at(i))
	}
	return out, true
}

// sequence returns the length of a sequence, and a function that returns its items. The length is 0 if it is unknown.
func sequence(over value) (int, func(int) value) {
	switch over := over.(type) {
	case *list:
		if !over.unseen {
			return len(over.items), func(i int) value { return hold(over.items[i]) }
		}
	case string:
		letters := []rune(over)
		return len(letters), func(i int) value { return string(letters[i]) }
	}
	return 0, nil
}
