// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"snug/internal/gpu"
	"snug/internal/watch"
)

// fakeSource is a source with scripted answers: one function for each sample, the last one repeated.
type fakeSource struct {
	name    string
	maker   gpu.Maker
	opens   []error // errors of the first calls of Open; later calls succeed
	samples []func() ([]gpu.Sample, error)
	asked   *int
	opened  *int
	closed  *int
}

func newFake(samples ...func() ([]gpu.Sample, error)) fakeSource {
	return fakeSource{name: "fake", maker: gpu.NVIDIA, samples: samples, asked: new(int), opened: new(int), closed: new(int)}
}

func (f fakeSource) Name() string                                { return f.name }
func (f fakeSource) Maker() gpu.Maker                            { return f.maker }
func (f fakeSource) Report(context.Context) (*gpu.Report, error) { return nil, errors.New("not used") }

func (f fakeSource) Open(context.Context) (gpu.Sampler, error) {
	*f.opened++
	if n := *f.opened; n <= len(f.opens) && f.opens[n-1] != nil {
		return nil, f.opens[n-1]
	}
	return f, nil
}

func (f fakeSource) Sample(context.Context) ([]gpu.Sample, error) {
	i := min(*f.asked, len(f.samples)-1)
	*f.asked++
	return f.samples[i]()
}

func (f fakeSource) Close() { *f.closed++ }

func used(n uint64) func() ([]gpu.Sample, error) {
	return func() ([]gpu.Sample, error) {
		return []gpu.Sample{{Index: 0, Total: 100, Used: n, Processes: []gpu.Process{{PID: 7, Used: n}}}, {Index: 1, Total: 100, Used: 1}}, nil
	}
}

func lost() ([]gpu.Sample, error) { return nil, fmt.Errorf("%w: gone", gpu.ErrLost) }

// watched calls Run for a simulated time, which passes at once, and returns the events.
func watched(t *testing.T, c Config, seconds int) (out []watch.Event, err error) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(seconds)*time.Second+time.Millisecond)
		defer cancel()
		if c.Interval == 0 {
			c.Interval = time.Second
		}
		err = Run(ctx, c, func(e watch.Event) { out = append(out, e) })
	})
	return out, err
}

func kinds(events []watch.Event, k watch.Kind) (out []watch.Event) {
	for _, e := range events {
		if e.Kind == k {
			out = append(out, e)
		}
	}
	return out
}

func notes(events []watch.Event) string {
	var out []string
	for _, e := range kinds(events, watch.KindNote) {
		out = append(out, e.Message)
	}
	return strings.Join(out, "\n")
}

func TestSamples(t *testing.T) {
	f := newFake(used(10), used(20))
	events, err := watched(t, Config{Sources: []gpu.SampledSource{f}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	cards := kinds(events, watch.KindGPU)
	if len(cards) != 8 || cards[0].GPU.Used != 10 || cards[2].GPU.Used != 20 || cards[2].T != 1 {
		t.Errorf("got %+v", cards)
	}
	if events[0].Kind != watch.KindStart || events[len(events)-1].Kind != watch.KindEnd || *f.closed != 1 {
		t.Errorf("begins with %v, ends with %v, closed %d times", events[0].Kind, events[len(events)-1].Kind, *f.closed)
	}
}

func TestOneGPU(t *testing.T) {
	events, err := watched(t, Config{Sources: []gpu.SampledSource{newFake(used(10))}, GPUs: []int{1, 5}}, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range kinds(events, watch.KindGPU) {
		if e.GPU.Index != 1 {
			t.Errorf("GPU %d", e.GPU.Index)
		}
	}
	if got := notes(events); got != "there is no GPU 5" {
		t.Errorf("notes: %s", got)
	}
}

func TestNoSource(t *testing.T) {
	f := newFake(used(1))
	f.opens = []error{errors.New("not installed")}
	if _, err := watched(t, Config{Sources: []gpu.SampledSource{f}}, 1); err == nil || err.Error() != "no GPU can be watched (fake: not installed)" {
		t.Errorf("got %v", err)
	}
}

// TestDriverLost loses the driver for a while: watching reports it, continues, and reports when the driver is back.
func TestDriverLost(t *testing.T) {
	f := newFake(used(10), lost, used(30))
	f.opens = []error{nil, errors.New("still gone")}
	events, err := watched(t, Config{Sources: []gpu.SampledSource{f}}, 20)
	if err != nil {
		t.Fatal(err)
	}
	want := "fake is not responding: the driver does not respond: gone; retrying\nfake is responding"
	if got := notes(events); got != want {
		t.Errorf("got %s", got)
	}
	last := kinds(events, watch.KindGPU)
	if n := len(last); last[n-1].GPU.Used != 1 || last[n-2].GPU.Used != 30 {
		t.Errorf("last samples %+v", last[n-2:])
	}
}

// TestSecondSource checks that another source for the same vendor takes over.
func TestSecondSource(t *testing.T) {
	first, second := newFake(used(10), lost), newFake(used(50))
	first.opens, second.name = []error{nil, errors.New("gone"), errors.New("gone"), errors.New("gone")}, "second"
	events, err := watched(t, Config{Sources: []gpu.SampledSource{first, second}}, 10)
	if err != nil {
		t.Fatal(err)
	}
	if got := notes(events); !strings.HasSuffix(got, "second is responding") {
		t.Errorf("got %s", got)
	}
	if *second.opened != 1 {
		t.Errorf("the second source was opened %d times", *second.opened)
	}
}

// TestGPUFallsOffTheBus loses one of two GPUs: the other is still watched.
func TestGPUFallsOffTheBus(t *testing.T) {
	broken := func() ([]gpu.Sample, error) {
		return []gpu.Sample{{Index: 0, Total: 100, Used: 5}, {Index: 1, Err: errors.New("it fell off the bus")}}, nil
	}
	events, err := watched(t, Config{Sources: []gpu.SampledSource{newFake(used(10), broken, broken, used(10))}}, 4)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := notes(events), "GPU 1 is not responding: it fell off the bus; still watching the others\nGPU 1 is responding again"; got != want {
		t.Errorf("got %s", got)
	}
	var ones, zeros int
	for _, e := range kinds(events, watch.KindGPU) {
		if e.GPU.Index == 0 {
			zeros++
		} else {
			ones++
		}
	}
	if zeros != 5 || ones != 3 {
		t.Errorf("%d samples of GPU 0, %d of GPU 1", zeros, ones)
	}
}

// TestMIG samples a GPU with MIG instances: each is a separate card with its own processes, and a run on an instance can
// use only the memory of that instance.
func TestMIG(t *testing.T) {
	first, second := 0, 1
	const g = 1 << 30
	cut := func() ([]gpu.Sample, error) {
		return []gpu.Sample{
			{Index: 1, Slice: &first, Name: "NVIDIA A100-SXM4-40GB MIG 3g.20gb", Total: 20 * g, Used: 15 * g, Processes: []gpu.Process{{PID: 7, Used: 15 * g}}},
			{Index: 1, Slice: &second, Name: "NVIDIA A100-SXM4-40GB MIG 1g.5gb", Total: 5 * g, Used: g, Processes: []gpu.Process{{PID: 8, Used: g}}},
		}, nil
	}
	broken := func() ([]gpu.Sample, error) {
		out, _ := cut()
		out[1] = gpu.Sample{Index: 1, Slice: &second, Err: errors.New("gone")}
		return out, nil
	}
	events, err := watched(t, Config{Sources: []gpu.SampledSource{newFake(cut, cut, broken, cut)}, GPUs: []int{1}}, 30)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := notes(events), "GPU 1 MIG 1 is not responding: gone; still watching the others\nGPU 1 MIG 1 is responding again"; got != want {
		t.Errorf("got %s", got)
	}
	w := watch.New(watch.Options{})
	for _, e := range events[:len(events)-1] { // omit the end event
		w.Add(e)
	}
	v := w.View()
	if len(v.Cards) != 2 || v.Cards[0].Device().String() != "GPU 1 MIG 0" || v.Cards[1].Total != 5*g {
		t.Fatalf("cards: %+v", v.Cards)
	}
	for i, p := range v.Processes {
		if p.PID != 7+i || p.GPU != (watch.Device{Index: 1, Slice: i + 1}) {
			t.Errorf("process %d is on %v", p.PID, p.GPU)
		}
	}
	if r := v.Processes[0].Reading; r.State != watch.Good || !strings.Contains(r.Why, "15.00 GiB of 20.00 GiB in use (75 %)") {
		t.Errorf("the first: %+v", r)
	}
	if r := v.Processes[1].Reading; r.State != watch.Underused {
		t.Errorf("the second: %+v", r)
	}
}

func TestProcessVanishes(t *testing.T) {
	calls := 0
	alive := func(int) Alive {
		calls++
		if calls > 4 {
			return Gone
		}
		return Ours
	}
	events, err := watched(t, Config{Sources: []gpu.SampledSource{newFake(used(10))}, PIDs: []int{7}, Alive: alive}, 100)
	if err != nil {
		t.Fatal(err)
	}
	if last := events[len(events)-1]; last.Kind != watch.KindEnd || last.T > 5 {
		t.Errorf("the last event is %+v", last)
	}
	if events[0].PID != 7 {
		t.Errorf("the first event is %+v", events[0])
	}
	if got := notes(events); got != "process 7 has ended" {
		t.Errorf("notes: %s", got)
	}
}

// TestRankVanishes checks that a process of the command that ends long before the others is reported, once.
func TestRankVanishes(t *testing.T) {
	var said []string
	zero, one := 0, 1
	s := &session{Config: Config{Alive: func(pid int) Alive {
		if pid == 8 {
			return Gone
		}
		return Ours
	}}, emit: func(e watch.Event) {
		if e.Kind == watch.KindNote {
			said = append(said, e.Message)
		}
	}, began: time.Now()}
	now := s.began
	s.Now = func() time.Time { return now }
	s.report(watch.Event{Kind: watch.KindStart, PID: 7, Rank: &zero})
	s.report(watch.Event{Kind: watch.KindStart, PID: 8, Rank: &one})
	for i := range 12 {
		now = now.Add(time.Second)
		s.report(watch.Event{Kind: watch.KindStep, PID: 7})
		s.checkRanks()
		if early := i < alone; early != (len(said) == 0) {
			t.Errorf("after %d s: %q", i+1, said)
		}
	}
	if len(said) != 1 || said[0] != "rank 1 (process 8) has ended, but another one goes on" {
		t.Errorf("said %q", said)
	}
}

func TestForeignProcess(t *testing.T) {
	events, err := watched(t, Config{Sources: []gpu.SampledSource{newFake(used(10))}, PIDs: []int{7}, Alive: func(int) Alive { return Foreign }}, 2)
	if err != nil {
		t.Fatal(err)
	}
	if got := notes(events); got != "process 7 belongs to another user; only what the driver reports about it is known" {
		t.Errorf("got %s", got)
	}
}

func TestNoSuchProcess(t *testing.T) {
	_, err := watched(t, Config{Sources: []gpu.SampledSource{newFake(used(10))}, PIDs: []int{7}, Alive: func(int) Alive { return Gone }}, 2)
	if err == nil || err.Error() != "there is no process 7" {
		t.Errorf("got %v", err)
	}
}

// TestClockJumps sets the clock back by an hour, and forward by a day: times continue from before the jump.
func TestClockJumps(t *testing.T) {
	for _, jump := range []time.Duration{-time.Hour, 24 * time.Hour} {
		offset, calls := time.Duration(0), 0
		now := func() time.Time {
			calls++
			if calls > 12 {
				offset = jump
			}
			return time.Now().Add(offset).Round(0) // Round strips the monotonic clock reading
		}
		events, err := watched(t, Config{Sources: []gpu.SampledSource{newFake(used(10))}, Now: now}, 10)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.IsSortedFunc(events, func(a, b watch.Event) int {
			if a.T < b.T {
				return -1
			}
			return 0
		}) {
			t.Errorf("%v: times go back", jump)
		}
		if last := events[len(events)-1]; last.T < 5 || last.T > 11 {
			t.Errorf("%v: ends at %g s", jump, last.T)
		}
		if got := notes(events); !strings.HasPrefix(got, "the clock jumped by") {
			t.Errorf("%v: notes %q", jump, got)
		}
	}
}

func TestAlive(t *testing.T) {
	if alive(1<<22+1) != Gone {
		t.Error("an impossible process exists")
	}
}
