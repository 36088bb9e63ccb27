// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"strings"
	"testing"
	"time"

	"snug/internal/gpu"
	"snug/internal/run"
	"snug/internal/setup"
	"snug/internal/tune"
)

// TestResult covers each outcome of a trial with the evidence for it.
func TestResult(t *testing.T) {
	const begin = `start "time":1, "pid":7`
	torch := `torch "versions":{"torch":"2.11.0"}`
	steps := func(n int, more ...string) []string {
		out := []string{begin, torch, `gpu "name":"NVIDIA H200", "total":150323855360`}
		for i := range n {
			seconds := ""
			if i > 0 {
				seconds = `, "seconds":0.5`
			}
			out = append(out, `step "n":`+string(rune('1'+i))+seconds+`, "peak_reserved":1000, "retries":2`)
		}
		return append(out, more...)
	}
	for _, c := range []struct {
		name    string
		lines   []string
		exit    run.Exit
		printed string
		want    tune.Outcome
		why     string
		rate    float64
	}{
		{"ended by the probe", steps(9, `peaks "n":9, "peak_reserved":1200, "retries":2`, `end "why":"steps"`), run.Exit{}, "", tune.Fits, "", 16},
		{"failed after its steps", steps(9, `end "why":"steps"`), run.Exit{Code: 3}, "", tune.Fits, "", 16},
		{"failed before", steps(2, `exception "type":"ValueError", "what":"no"`), run.Exit{Code: 1}, "", tune.Crashed, "failed with exit code 1", 0},
		{"ended by itself", steps(6, `end "why":"exit"`), run.Exit{}, "", tune.Fits, "", 16},
		{"no room, by the probe", steps(1, `oom "asked":2147483648`), run.Exit{Code: 1}, "", tune.OutOfMemory, "ran out of GPU memory after 1 step, asking for 2.00 GiB", 0},
		{"no room, caught", steps(9, `oom "asked":2147483648`, `end "why":"steps"`), run.Exit{}, "", tune.OutOfMemory, "after 9 steps", 0},
		{"no room, as a library says", steps(1), run.Exit{Code: 1}, "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`\n", tune.OutOfMemory, "its output reports", 0},
		{"a signal", steps(2), run.Exit{Code: 139, Signal: 11}, "", tune.Crashed, "was ended by signal 11", 0},
		{"no Python", nil, run.Exit{Code: 127}, "sh: 1: trian: not found\n", tune.Crashed, "failed with exit code 127", 0},
		{"the disk", steps(2), run.Exit{Code: 1}, "OSError: [Errno 28] No space left on device: 'out.pt'\nlast\n", tune.Crashed, `it printed "No space left on device"`, 0},
		{"on the CPU", []string{begin, torch, `nogpu "available":false`, `step "n":1`, `end "why":"steps"`}, run.Exit{}, "", tune.Crashed, "on the CPU", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &world{t: t, train: func(j *job) run.Exit {
				if len(c.lines) > 0 {
					j.tell(c.lines...)
				}
				_, _ = j.Stderr.Write([]byte(c.printed))
				return c.exit
			}}
			s := w.open(Plan{Command: []string{"train", "{batch}"}, Steps: 9, Measure: &Measure{}})
			x, err := s.Bind(nil, setup.Assign("batch", 8))
			if err == nil {
				err = s.Run(context.Background(), x)
			}
			if err != nil {
				t.Fatal(err)
			}
			r := x.Result(8, 1)
			if r.Outcome != c.want || !strings.Contains(r.Why, c.why) || c.why == "" && r.Why != "" || r.Rate != c.rate {
				t.Errorf("%s, %q, %v samples/s; want %s, %q, %v", r.Outcome, r.Why, r.Rate, c.want, c.why, c.rate)
			}
			if full := strings.Contains(c.printed, "No space"); x.DiskIsFull() != full {
				t.Errorf("the disk is full: %v", x.DiskIsFull())
			}
		})
	}
}

// With several ranks, the peak is from the rank that used the most memory, the speed is from the slowest rank, and
// the rank that ran out of memory is named.
func TestResultOfRanks(t *testing.T) {
	report := func(rank string, seconds string, peak string, more ...string) string {
		lines := []string{`{"event":"start","time":1,"pid":` + rank + `,"rank":` + rank + `,"world_size":2}`, `{"event":"torch","versions":{"torch":"2.11.0"}}`}
		for range 9 {
			lines = append(lines, `{"event":"step","n":1,"seconds":`+seconds+`,"peak_reserved":`+peak+`}`)
		}
		return strings.Join(append(lines, more...), "\n") + "\n"
	}
	for _, c := range []struct {
		second string // what the second rank reports
		want   tune.Outcome
		why    string
	}{{`{"event":"end","why":"steps"}`, tune.Fits, ""}, {`{"event":"oom","asked":1048576}`, tune.OutOfMemory, "rank 1 ran out of GPU memory after 9 steps"}} {
		w := &world{t: t, train: func(j *job) run.Exit {
			write(t, j.folder+"/0.jsonl", report("0", "0.5", "1000", `{"event":"end","why":"steps"}`))
			write(t, j.folder+"/1.jsonl", report("1", "0.8", "3000", c.second))
			return run.Exit{}
		}}
		s := w.open(Plan{Command: []string{"torchrun", "train"}, Steps: 9, Measure: &Measure{}})
		x, err := s.Bind(nil, nil)
		if err == nil {
			err = s.Run(context.Background(), x)
		}
		if err != nil {
			t.Fatal(err)
		}
		r := x.Result(8, 1)
		if r.Outcome != c.want || !strings.Contains(r.Why, c.why) || r.Reserved != 3000 || len(r.Ranks) != 2 || r.Ranks[0].Reserved != 1000 || r.Ranks[1].Reserved != 3000 {
			t.Errorf("%+v", r)
		}
		if c.want == tune.Fits && r.Rate != 20 {
			t.Errorf("%v samples/s, want those of the slower rank", r.Rate)
		}
	}
}

// changing is a driver whose free memory changes from one query to the next.
type changing struct{ free []uint64 }

func (*changing) Name() string     { return "card" }
func (*changing) Maker() gpu.Maker { return gpu.NVIDIA }
func (c *changing) Report(context.Context) (*gpu.Report, error) {
	free := c.free[0]
	if len(c.free) > 1 {
		c.free = c.free[1:]
	}
	return &gpu.Report{Devices: []gpu.Device{{Maker: gpu.NVIDIA, Name: "NVIDIA H200", Total: 150 << 30, Free: free}}}, nil
}

// The next trial waits until the previous one's memory is free again, and is not run if that never happens.
func TestSettle(t *testing.T) {
	for _, c := range []struct {
		free []uint64 // at each query; the first is made before anything runs
		err  string
	}{
		{[]uint64{140 << 30, 140 << 30, 140 << 30}, ""},
		{[]uint64{140 << 30, 140 << 30, 60 << 30, 100 << 30, 140<<30 - 1<<20}, ""},
		{[]uint64{140 << 30, 140 << 30, 60 << 30}, "cuda:0 has 80.00 GiB less free memory than before the first trial"},
	} {
		w, now := &world{t: t}, time.Unix(1_700_000_000, 0)
		env := w.env()
		env.GPUs = []gpu.Source{&changing{c.free}}
		env.Now = func() time.Time { return now }
		env.After = func(d time.Duration) <-chan time.Time {
			now = now.Add(d)
			out := make(chan time.Time, 1)
			out <- now
			return out
		}
		s, err := Open(context.Background(), env, Plan{Command: []string{"train"}, Steps: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Settle(context.Background()); err != nil {
			t.Fatal(err)
		}
		err = s.Settle(context.Background())
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%v: %v, want %q", c.free, err, c.err)
		}
		s.Close()
	}
}
