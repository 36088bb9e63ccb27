// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"cmp"
	"maps"
	"slices"
)

// View is everything that a screen or an exporter shows at one moment.
type View struct {
	T         float64       // seconds since the start
	Reading   Reading       // the current reading
	Cards     []CardView    // in the driver's order
	Processes []ProcessView // by process ID
	Notes     []Note        // problems with watching itself, the latest last
	Ended     bool          // the run or the watching has ended
	Expected  *Expected     // the prediction; nil if there is none
}

// Note is a problem with watching itself, such as a lost source.
type Note struct {
	T    float64 // seconds since the start
	Text string  // the problem, in one line
}

// CardView is one card.
type CardView struct {
	GPU
	Free   int64        // bytes
	Curve  []CurvePoint // its memory over the whole run, oldest first
	Silent bool         // no sample for a while
}

// CurvePoint is a point of a curve: the largest values of a time interval.
type CurvePoint struct {
	T    float64 // seconds since the start
	Used float64 // bytes
	Util float64 // percent
}

// ProcessView is one process on a card.
type ProcessView struct {
	Process
	GPU       Device      // its card
	Watched   bool        // snug watches it; the fields below are set
	State     State       // state of a watched process
	Step      Step        // the newest step; N is 0 if the process reports none
	Seconds   float64     // typical time of a recent step
	Capacity  float64     // how much PyTorch could reserve
	Limit     int64       // the cap that the process has set for itself; 0 if none
	Rank      *int        // rank in a run on several GPUs; nil if unknown
	Deviation *Deviation  // the first step that differs from the prediction
	Reading   Reading     // its reading
	Trained   int         // training steps seen
	Gone      bool        // the process has ended
	Curve     []StepPoint // its steps' memory, oldest first
}

// StepPoint is a point of a process's curve: the largest values of some steps.
type StepPoint struct {
	Step                      int     // number of the last step
	Allocated, Peak, Reserved float64 // bytes
	Predicted                 Peak    // zero if nothing was predicted
}

// View returns the current view.
func (w *Watcher) View() View {
	v := View{T: w.t, Reading: w.now, Ended: w.ended, Expected: w.expected, Notes: slices.Clone(w.notes)}
	order := func(a, b Device) int { return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.Slice, b.Slice)) }
	for _, i := range slices.SortedFunc(maps.Keys(w.cards), order) {
		c := w.cards[i]
		v.Cards = append(v.Cards, CardView{GPU: c.newest, Free: max(0, c.total-c.used), Curve: slices.Clone(c.curve.points), Silent: w.t-c.t > silence})
	}
	names, utils := map[int]string{}, map[int]*float64{}
	for _, c := range w.cards {
		for _, x := range c.newest.Procs {
			names[x.PID] = x.Name
			if p := w.procs[x.PID]; p != nil && p.gpu == c.device {
				utils[x.PID] = x.Util
			}
			if !w.mine(x.PID) {
				v.Processes = append(v.Processes, ProcessView{Process: x, GPU: c.device})
			}
		}
	}
	for _, p := range w.subjects() {
		x := w.viewOf(p, names[p.pid])
		x.Util = utils[p.pid]
		v.Processes = append(v.Processes, x)
	}
	slices.SortFunc(v.Processes, func(a, b ProcessView) int { return a.PID - b.PID })
	return v
}

// silence is the number of seconds without a sample after which a card counts as silent.
const silence = 15

func (w *Watcher) viewOf(p *process, name string) ProcessView {
	r := w.judge(p)
	x := ProcessView{
		Process: Process{PID: p.pid, Used: p.used, Name: name}, GPU: p.gpu, Watched: true, State: r.State, Reading: r,
		Step: p.last, Seconds: p.stepSeconds(), Capacity: w.capacity(p), Trained: p.trained, Gone: p.gone, Limit: p.limit, Rank: p.rank, Deviation: p.deviation, Curve: slices.Clone(p.curve.points),
	}
	x.Step.N = p.step
	return x
}

// mostCurve is the maximum number of points of a curve.
const mostCurve = 512

// curve stores a series in bounded memory: when it is full, neighboring points are merged.
type curve[P any] struct {
	points []P
	each   int // samples per point
	filled int // samples in the last point
	merge  func(a, b P) P
}

func (c *curve[P]) add(p P) {
	if c.each == 0 {
		c.each = 1
	}
	if n := len(c.points); n > 0 && c.filled < c.each {
		c.points[n-1] = c.merge(c.points[n-1], p)
		c.filled++
		return
	}
	if len(c.points) >= mostCurve {
		for i := range mostCurve / 2 {
			c.points[i] = c.merge(c.points[2*i], c.points[2*i+1])
		}
		c.points = c.points[:mostCurve/2]
		c.each *= 2
	}
	c.points = append(c.points, p)
	c.filled = 1
}

func mergeCurve(a, b CurvePoint) CurvePoint {
	return CurvePoint{T: b.T, Used: max(a.Used, b.Used), Util: max(a.Util, b.Util)}
}

func mergeSteps(a, b StepPoint) StepPoint {
	return StepPoint{b.Step, max(a.Allocated, b.Allocated), max(a.Peak, b.Peak), max(a.Reserved, b.Reserved), highestOf(a.Predicted, b.Predicted)}
}
