// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"net/http"
	"slices"

	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/setup"
	"snug/internal/shadow"
	"snug/internal/simulate"
)

// estimateAnswer has the fields that snug estimate --json prints.
type estimateAnswer struct {
	*estimate.Answer
	Notes []string `json:"notes,omitempty"`
}

func notes(s *setup.Setup, card gpu.Card) []string {
	named := estimate.NotesNamed(s, card, func(field string) string { return field })
	return slices.Concat(named, estimate.Uncounted(s))
}

func (s *server) estimate(w http.ResponseWriter, r *http.Request) (any, error) {
	q, err := s.read(w, r, false)
	if err != nil {
		return nil, err
	}
	return s.compute(r, func(ctx context.Context) (any, error) {
		a, err := q.answer(ctx)
		if err != nil {
			return nil, err
		}
		return estimateAnswer{a, notes(q.setup, q.card)}, nil
	})
}

// answer estimates the run. If only the card's memory is known, the answer has no step time.
func (q asked) answer(ctx context.Context) (*estimate.Answer, error) {
	a, err := estimate.EstimateContext(ctx, q.setup, q.card)
	if err == nil && (q.card.Unnamed || q.card.Total == 0) {
		a.StepSeconds = 0
	}
	return a, err
}

// maxAnswer has the fields that snug max-batch --json prints.
type maxAnswer struct {
	*estimate.MaxAnswer
	SureBatch int      `json:"sure_batch"`
	Notes     []string `json:"notes,omitempty"`
}

func (s *server) maxBatch(w http.ResponseWriter, r *http.Request) (any, error) {
	q, err := s.read(w, r, true)
	if err != nil {
		return nil, err
	}
	return s.compute(r, func(ctx context.Context) (any, error) {
		m, err := estimate.MaxBatchContext(ctx, q.setup, q.card)
		if err != nil {
			return nil, err
		}
		out := maxAnswer{MaxAnswer: m, Notes: notes(q.setup, q.card)}
		safe, err := m.SafeBatch(m.Best)
		if err == nil && safe != nil {
			out.SureBatch = safe.Setup.Batch
		}
		return out, err
	})
}

// columns is the number of points in time into which the page divides a step.
const columns = 400

// timelineAnswer is one optimizer step over time.
type timelineAnswer struct {
	Components []string   `json:"components"` // in the order of the areas, bottom first
	Areas      [][]uint64 `json:"areas"`      // bytes in each column, by component
	Reserved   []uint64   `json:"reserved"`   // bytes that PyTorch has reserved in each column
	Phases     []phase    `json:"phases"`     // where phases begin
	Peak       int        `json:"peak"`       // the column of the peak; -1 if it is in another step
	Tensors    []tensors  `json:"tensors"`    // tensors alive at the peak, largest first
	Groups     []group    `json:"groups"`     // the groups that Held refers to
	Held       [][]held   `json:"held"`       // the largest tensors alive in each column, of each component
}

// group is what equal tensors have in common.
type group struct {
	Path      string `json:"path"` // the module, with * for the layer number
	Op        string `json:"op,omitempty"`
	Form      string `json:"form"` // type and shape
	Component string `json:"component"`
	Each      uint64 `json:"each"` // bytes of one tensor
}

// held says how many tensors of a group are alive.
type held struct {
	Group int `json:"group"` // index into groups
	Count int `json:"count"`
}

type phase struct {
	Name   string `json:"name"`
	Column int    `json:"column"`
}

// tensors is a group of equal tensors.
type tensors struct {
	Path      string `json:"path"` // the module, with * for the layer number
	Op        string `json:"op,omitempty"`
	Form      string `json:"form"` // type and shape
	Component string `json:"component"`
	Count     int    `json:"count"`
	Bytes     uint64 `json:"bytes"` // total of the group
}

// mostGroups is the maximum number of tensor groups in an answer.
const mostGroups = 60

func (s *server) timeline(w http.ResponseWriter, r *http.Request) (any, error) {
	q, err := s.read(w, r, false)
	if err != nil {
		return nil, err
	}
	return s.compute(r, func(ctx context.Context) (any, error) {
		a, err := q.answer(ctx)
		if err != nil {
			return nil, err
		}
		return timelineOf(a)
	})
}

// fromBelow is the drawing order of components: persistent ones are at the bottom.
var fromBelow = []shadow.Component{
	shadow.Parameters, shadow.OptimizerState, shadow.Gradients, shadow.Batch, shadow.Workspace, shadow.Activations, shadow.Logits, shadow.Temporaries,
}

func timelineOf(a *estimate.Answer) (*timelineAnswer, error) {
	line, err := a.Timeline(columns)
	if err != nil {
		return nil, err
	}
	out := &timelineAnswer{Components: []string{}, Areas: [][]uint64{}, Reserved: line.Reserved, Phases: []phase{}, Tensors: []tensors{}, Groups: []group{}, Held: [][]held{}, Peak: line.Peak}
	for _, p := range line.Starts {
		out.Phases = append(out.Phases, phase{simulate.PhaseName(p.Phase), p.Column})
	}
	areas := a.Areas(len(line.Reserved))
	for _, c := range fromBelow {
		if area := areas[c]; slices.Max(append(area, 0)) > 0 {
			out.Components = append(out.Components, c.String())
			out.Areas = append(out.Areas, area)
		}
	}
	named, err := a.Tensors()
	if err != nil {
		return nil, err
	}
	groups := named.AtPeak()
	for _, g := range groups[:min(mostGroups, len(groups))] {
		out.Tensors = append(out.Tensors, tensors{g.Path, g.Form.Op, g.Form.String(), g.Component.String(), g.Count, g.Bytes()})
	}
	out.addHeld(named)
	return out, nil
}

// mostHeld is the maximum number of tensor groups of each component in a column.
const mostHeld = 3

// addHeld adds the largest tensors of each column, and the groups that they belong to.
func (t *timelineAnswer) addHeld(named *estimate.Tensors) {
	groups, columns := named.Held(len(t.Reserved), mostHeld)
	index := map[int]int{}
	for _, column := range columns {
		now := []held{}
		for _, h := range column {
			at, known := index[h.Group]
			if !known {
				at = len(t.Groups)
				index[h.Group] = at
				g := groups[h.Group]
				t.Groups = append(t.Groups, group{g.Path, g.Form.Op, g.Form.String(), g.Component.String(), g.Each})
			}
			now = append(now, held{at, h.Count})
		}
		t.Held = append(t.Held, now)
	}
}

// curveAnswer contains memory and speed for growing batches.
type curveAnswer struct {
	Points   []point `json:"points"`
	MaxBatch int     `json:"max_batch"` // the largest batch that fits; 0 if none does or no card was given
}

type point struct {
	Batch            int     `json:"batch"`
	DevicePeak       uint64  `json:"device_peak"`
	SamplesPerSecond float64 `json:"samples_per_second,omitempty"`
	Fits             *bool   `json:"fits,omitempty"`
}

// mostPoints is the maximum number of batches in a curve.
const mostPoints = 14

func (s *server) curve(w http.ResponseWriter, r *http.Request) (any, error) {
	q, err := s.read(w, r, true)
	if err != nil {
		return nil, err
	}
	return s.compute(r, func(ctx context.Context) (any, error) {
		out := &curveAnswer{Points: []point{}}
		most := max(4, 2*q.setup.Batch)
		if q.card.Total > 0 || q.setup.Limit > 0 {
			m, err := estimate.MaxBatchContext(ctx, q.setup, q.card)
			if err != nil {
				return nil, err
			}
			out.MaxBatch = m.MaxBatch
			if m.MaxBatch > 0 {
				most = max(m.MaxBatch+max(1, m.MaxBatch/8), 2)
			}
		}
		for _, b := range batches(q.setup.Batch, out.MaxBatch, most) {
			p, err := q.at(ctx, b)
			if err != nil {
				return nil, err
			}
			out.Points = append(out.Points, p)
		}
		return out, nil
	})
}

// batches returns the batches of a curve: evenly spaced, including the run's own and the largest that fits.
func batches(own, largest, most int) []int {
	var out []int
	for i := 1; i <= mostPoints; i++ {
		out = append(out, max(1, most*i/mostPoints))
	}
	for _, b := range []int{1, own, largest} {
		if b > 0 && b <= most {
			out = append(out, b)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// at returns the point for a batch.
func (q asked) at(ctx context.Context, batch int) (point, error) {
	run := *q.setup
	run.Batch = batch
	a, err := estimate.FiguresContext(ctx, &run, q.card)
	if err != nil {
		return point{}, err
	}
	p := point{Batch: batch, DevicePeak: a.DevicePeak, Fits: a.Fits}
	if a.StepSeconds > 0 && !q.card.Unnamed && q.card.Total > 0 {
		p.SamplesPerSecond = float64(batch*run.Accumulation*run.Dist.World()) / a.StepSeconds
	}
	return p, nil
}
