// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/plan"
	"snug/internal/setup"
)

// planQuestion is a request for the best settings.
type planQuestion struct {
	question
	Target int       `json:"target_effective_batch"`
	Goal   plan.Goal `json:"goal"`
	Lock   []string  `json:"lock"`
	Allow  []string  `json:"allow"`
}

func (s *server) readPlan(w http.ResponseWriter, r *http.Request) (plan.Request, error) {
	var q planQuestion
	if err := decode(w, r, &q); err != nil {
		return plan.Request{}, err
	}
	if q.Target < 0 || q.Target > 1<<30 {
		return plan.Request{}, invalid("target_effective_batch is %d; it must be from 1 to %d, or 0 for the current one", q.Target, 1<<30)
	}
	if q.Goal != "" && !slices.Contains(plan.Goals, q.Goal) {
		return plan.Request{}, invalid("goal %q is not known; it is one of %v", q.Goal, plan.Goals)
	}
	a, err := s.understand(q.question, false)
	return plan.Request{Setup: a.setup, Card: a.card, Target: q.Target, Goal: cmp.Or(q.Goal, plan.Throughput), Lock: q.Lock, Allow: q.Allow}, err
}

// planAnswer has the fields that snug optimize --json prints, and the rest of what the command prints.
type planAnswer struct {
	*plan.Plan
	Change string   `json:"change,omitempty"` // a description of the recommended settings
	Notes  []string `json:"notes,omitempty"`
	Rescue []string `json:"rescue,omitempty"` // if nothing fits: the changes that would make it fit
	Flags  []string `json:"flags,omitempty"`  // the flags for those changes
}

func (s *server) optimize(w http.ResponseWriter, r *http.Request) (any, error) {
	q, err := s.readPlan(w, r)
	if err != nil {
		return nil, err
	}
	if q.Card.Total == 0 && q.Setup.Limit == 0 {
		return nil, invalid("%w", estimate.ErrNoLimit)
	}
	return s.compute(r, func(ctx context.Context) (any, error) {
		p, err := plan.SearchContext(ctx, q)
		if err != nil {
			return nil, err
		}
		out := planAnswer{Plan: p, Notes: p.Notes, Rescue: p.Rescue, Flags: p.Flags}
		if p.Recommended != nil {
			out.Change = p.Recommended.Change
		}
		return out, nil
	})
}

// comparison contains the best settings for each card.
type comparison struct {
	Current setup.Values `json:"current"` // the settings of the run itself
	Cards   []onCard     `json:"cards"`
}

type onCard struct {
	GPU         string       `json:"gpu"`
	Total       uint64       `json:"total"`
	Recommended *plan.Choice `json:"recommended"` // nil if nothing fits
}

func (s *server) compare(w http.ResponseWriter, r *http.Request) (any, error) {
	q, err := s.readPlan(w, r)
	if err != nil {
		return nil, err
	}
	return s.compute(r, func(ctx context.Context) (any, error) {
		plans, err := plan.SearchAll(ctx, q, gpu.Cards())
		if err != nil {
			return nil, err
		}
		out := comparison{Cards: []onCard{}}
		for _, p := range plans {
			out.Current = p.Current.Settings // the same on every card
			out.Cards = append(out.Cards, onCard{p.GPU, p.Card.Total, p.Recommended})
		}
		return out, nil
	})
}
