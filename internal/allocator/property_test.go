// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var confs = []string{
	"", "expandable_segments:True", "max_split_size_mb:64", "garbage_collection_threshold:0.5",
	"roundup_power2_divisions:4", "max_split_size_mb:21,garbage_collection_threshold:0.2",
	"expandable_segments:True,garbage_collection_threshold:0.8,roundup_power2_divisions:16",
}

// operation is one operation on an allocator under test, with a parameter.
type operation struct {
	op     byte
	amount uint64
}

// size maps the parameter to the sizes that matter: tiny, around the limits, and large enough to fill the card.
func (d operation) size() uint64 {
	borders := [...]uint64{1, 512, 1 << 20, 10 << 20, 20 << 20, 64 << 20}
	if d.amount%3 == 0 {
		return borders[d.amount/3%6] + d.amount/18%3 - d.amount/54%2
	}
	return 1 + d.amount%(1<<(10+d.amount/3%17))
}

// subject is an allocator with the blocks that the test has allocated.
type subject struct {
	a    *Allocator
	dev  *Simple
	held []Ref
}

func newSubject(minor, conf uint64) (*subject, error) {
	v := Version{2, 1 + int(minor%12)}
	dev := &Simple{Total: 256 << 20, Outside: 10 << 20}
	opt, err := ParseOptions(confs[conf%uint64(len(confs))], v)
	if err != nil {
		return nil, err
	}
	a, err := New(dev, v, opt)
	return &subject{a: a, dev: dev}, err
}

// do performs one operation. Errors that PyTorch would raise too are not failures.
func (s *subject) do(d operation) error {
	stream := d.amount % 7 / 5 * 0x1000
	switch d.op % 16 {
	default:
		r, err := s.a.Alloc(d.size(), stream)
		var oom *OutOfMemoryError
		if errors.As(err, &oom) {
			return nil
		}
		if err == nil {
			s.held = append(s.held, r)
		}
		return err
	case 6, 7, 8, 9, 10:
		if len(s.held) == 0 {
			return nil
		}
		i := int(d.amount % uint64(len(s.held)))
		r := s.held[i]
		s.held = slices.Delete(s.held, i, i+1)
		return s.a.Free(r)
	case 11:
		if len(s.held) == 0 {
			return nil
		}
		return s.a.RecordStream(s.held[d.amount%uint64(len(s.held))], d.amount%3*0x1000)
	case 12:
		if len(s.a.captures) == 0 {
			return s.a.EmptyCache()
		}
	case 13:
		s.a.SetEventsDone(d.amount%2 == 0)
	case 14:
		s.pools(d.amount)
	case 15:
		return s.a.SetMemoryFraction(0.3 + float64(d.amount%8)/10)
	}
	return nil
}

// pools opens and closes scopes of two private pools. Misuse is refused and must change nothing.
func (s *subject) pools(n uint64) {
	id := PoolID{A: 1 + n%2}
	switch n / 2 % 3 {
	case 0:
		_ = s.a.BeginPool(id, PoolOptions{NoSplit: n%5 == 0, UseOnOOM: n%3 == 0})
	case 1:
		_ = s.a.EndPool(id)
	case 2:
		_ = s.a.ReleasePool(id)
	}
}

func (s *subject) check(t interface{ Fatalf(string, ...any) }) {
	if err := audit(s.a); err != nil {
		t.Fatalf("%v, confs %+v: %v", s.a.version, s.a.opt, err)
	}
	if s.dev.Used() != roundUp(s.a.total, granularity) {
		t.Fatalf("device counts %d bytes, allocator %d", s.dev.Used(), s.a.total)
	}
}

func TestInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		minor, conf := rapid.Uint64Max(11).Draw(t, "minor"), rapid.Uint64Max(6).Draw(t, "conf")
		s, err := newSubject(minor, conf)
		if err != nil {
			t.Skip(err)
		}
		ops := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) operation {
			return operation{rapid.Byte().Draw(t, "op"), rapid.Uint64().Draw(t, "amount")}
		}), 1, 200).Draw(t, "deeds")
		for _, d := range ops {
			if err := s.do(d); err != nil {
				t.Fatalf("%+v: %v", d, err)
			}
			s.check(t)
		}
	})
}

// TestInvariantsAtRandom checks the invariants after long random sequences, without shrinking, to reach states
// that need many steps.
func TestInvariantsAtRandom(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 0))
		s, err := newSubject(r.Uint64(), r.Uint64())
		if err != nil {
			continue // an option that this version does not have
		}
		for i := range 300 {
			d := operation{byte(r.IntN(16)), r.Uint64()}
			if d.op >= 14 && i%5 > 0 {
				continue
			}
			if err := s.do(d); err != nil {
				t.Fatalf("seed %d, step %d, %+v: %v", seed, i, d, err)
			}
			if i%5 == 0 {
				s.check(t)
			}
		}
	}
}

// TestFreeEverything checks that nothing is left when everything is freed and flushed.
func TestFreeEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := newSubject(rapid.Uint64Max(11).Draw(t, "minor"), rapid.Uint64Max(6).Draw(t, "conf"))
		if err != nil {
			t.Skip(err)
		}
		for _, n := range rapid.SliceOfN(rapid.Uint64(), 1, 60).Draw(t, "amounts") {
			if err := s.do(operation{byte(n % 14), n}); err != nil {
				t.Fatal(err)
			}
		}
		for _, r := range s.held {
			if err := s.a.Free(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.a.EmptyCache(); err != nil {
			t.Fatal(err)
		}
		if s.a.Reserved() != 0 || s.dev.Used() != 0 || len(s.a.Segments()) != 0 {
			t.Fatalf("reserved %d, device %d after everything was freed", s.a.Reserved(), s.dev.Used())
		}
		s.check(t)
	})
}

// TestRestoreRoundTrip checks that restoring a state reproduces it.
func TestRestoreRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := newSubject(rapid.Uint64Max(11).Draw(t, "minor"), rapid.Uint64Max(6).Draw(t, "conf"))
		if err != nil {
			t.Skip(err)
		}
		for _, n := range rapid.SliceOfN(rapid.Uint64(), 1, 60).Draw(t, "amounts") {
			if err := s.do(operation{byte(n % 14), n}); err != nil {
				t.Fatal(err)
			}
		}
		want := s.a.Segments()
		for i := range want {
			for k := range want[i].Blocks {
				if b := &want[i].Blocks[k]; b.Use == Inactive {
					b.Requested = 0
				}
			}
		}
		dev := &Simple{Total: s.dev.Total}
		a, err := New(dev, s.a.version, s.a.opt)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Restore(want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, a.Segments()); diff != "" {
			t.Fatalf("restored state differs (-want +got):\n%s", diff)
		}
		(&subject{a: a, dev: dev}).check(t)
	})
}

func FuzzAllocator(f *testing.F) {
	f.Add(uint64(10), uint64(0), []byte("\x01abcdefgh\x07hgfedcba\x0cxxxxxxxx"))
	f.Add(uint64(11), uint64(1), []byte("\x01\x00\x00\x00\x03\x00\x00\x00\x00\x0c\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, minor, conf uint64, program []byte) {
		s, err := newSubject(minor, conf)
		if err != nil {
			t.Skip(err)
		}
		for ; len(program) >= 9 && len(s.held) < 500; program = program[9:] {
			d := operation{op: program[0]}
			for _, b := range program[1:9] {
				d.amount = d.amount<<8 | uint64(b)
			}
			if err := s.do(d); err != nil {
				t.Fatalf("%+v: %v", d, err)
			}
			s.check(t)
		}
	})
}
