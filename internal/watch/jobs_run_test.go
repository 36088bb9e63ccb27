package watch

import (
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestExploreJobs(t *testing.T) {
	only := os.Getenv("ONLY")
	seeds, _ := strconv.Atoi(os.Getenv("SEEDS"))
	base, _ := strconv.Atoi(os.Getenv("BASE"))
	total, bad := 0, 0
	h := healthy()
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if only != "" && !strings.Contains(name, only) {
			continue
		}
		for s := range seeds {
			j := newJob(uint64(s+base), name)
			h[name](j)
			ev, oom := j.events()
			if oom > 0 {
				t.Logf("%s/%d OOM at %d", name, s, oom)
				continue
			}
			total++
			st := map[State]int{}
			w := New(Options{})
			first := 0
			why := ""
			for _, e := range ev {
				r, _ := w.Add(e)
				if e.Kind == KindStep {
					st[r.State]++
				}
				if r.State == Leaking && first == 0 {
					first = r.Step
					why = r.Why
				}
			}
			if first > 0 {
				bad++
				t.Logf("FALSE %s/%d at %d (%s) steps=%d", name, s, first, why, j.steps)
			}
			if s == 0 {
				t.Logf("%s: %v", name, st)
			}
		}
	}
	t.Logf("healthy %d, false %d", total, bad)
	l := leaking()
	total = 0
	for _, name := range slices.Sorted(maps.Keys(l)) {
		late, early, lost, off, half, miss, iv, never, n := 0, 0, 0, 0, 0, 0, 0, 0, 0
		worst := 0.0
		maxseen := 0
		if only != "" && !strings.Contains(name, only) {
			continue
		}
		for s := range seeds {
			x := &leak{job: newJob(uint64(s+base), name), within: 60}
			x.steps = 20000
			l[name](x)
			ev, oom := x.events()
			if oom == 0 {
				t.Logf("%s/%d no OOM", name, s)
				continue
			}
			n++
			w := New(Options{})
			seen := 0
			for _, e := range ev {
				r, _ := w.Add(e)
				if e.Kind != KindStep {
					continue
				}
				if r.State == Leaking && r.Step <= x.begins {
					early++
					continue
				}
				if r.State == Leaking && seen == 0 {
					seen = r.Step
				}
				if r.State != Leaking && seen > 0 {
					lost++
				}
				if r.StepsToOOM == nil {
					continue
				}
				iv++
				if r.Step+r.StepsToOOM[0] > oom || r.Step+r.StepsToOOM[2] < oom {
					miss++
				}
				if r.Step > x.begins+(oom-x.begins)/2 {
					half++
					d := math.Abs(float64(r.Step+r.StepsToOOM[1]-oom)) / float64(oom)
					worst = max(worst, d)
					if d > 0.2 {
						off++
					}
				}
			}
			if seen == 0 {
				never++
				t.Logf("  NEVER %s/%d oom %d begins %d", name, s, oom, x.begins)
			} else if seen > x.begins+x.within {
				late++
				t.Logf("  LATE %s/%d seen +%d (oom %d)", name, s, seen-x.begins, oom)
			}
			maxseen = max(maxseen, seen-x.begins)
		}
		total += n
		t.Logf("%-32s n %d never %d late %d (max +%d) early %d lost %d | half %d off %d worst %.2f | intervals %d miss %d", name, n, never, late, maxseen, early, lost, half, off, worst, iv, miss)
	}
	t.Logf("leaking %d", total)
}
