// SPDX-License-Identifier: Apache-2.0

package snug

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/plan"
	"snug/internal/setup"
)

// Parse reads one setup from JSON or YAML. It checks field names and value types; [Check] and the functions that
// answer questions check the values.
func Parse(text []byte) (*Setup, error) {
	raws, err := setup.Read(bytes.NewReader(text))
	switch {
	case err != nil:
		return nil, err
	case len(raws) > 1:
		return nil, errors.New("the text has more than one setup; give one")
	case raws[0].Err != nil:
		return nil, raws[0].Err
	}
	data, err := json.Marshal(raws[0].Fields)
	if err != nil {
		return nil, err
	}
	s := &Setup{}
	if err := s.UnmarshalJSON(data); err != nil {
		return nil, err
	}
	return s, nil
}

// Check looks the model up and checks every field of a setup, without simulating
// anything. The error is usually a [*FieldError].
func Check(ctx context.Context, s *Setup, opts ...Option) error {
	_, err := optionsOf(opts).filled(ctx, s)
	return err
}

// Estimate returns how much memory a run takes. If there is a card or the setup has a limit, the answer also reports
// whether the run fits.
func Estimate(ctx context.Context, s *Setup, card Card, opts ...Option) (*Answer, error) {
	in, err := optionsOf(opts).runnable(ctx, s, card)
	if err != nil {
		return nil, err
	}
	a, err := estimate.EstimateContext(ctx, in, card.internal())
	if err != nil {
		return nil, public(err)
	}
	out := answerOf(a, s.Model)
	out.Notes = notesOf(in, card.internal())
	if a.Card.Unnamed {
		out.StepSeconds = 0 // the card's speed is not known
	}
	return out, nil
}

// MaxBatch returns the largest batch that fits the setup's limit and the card. Each batch tried is simulated as a
// whole run, so fragmentation is included. The setup's own batch is ignored. Without a limit or a card the error is
// [ErrNoLimit].
func MaxBatch(ctx context.Context, s *Setup, card Card, opts ...Option) (*MaxAnswer, error) {
	if s != nil {
		one := *s
		one.Batch = 1
		s = &one
	}
	in, err := optionsOf(opts).runnable(ctx, s, card)
	if err != nil {
		return nil, err
	}
	m, err := estimate.MaxBatchContext(ctx, in, card.internal())
	if err != nil {
		return nil, public(err)
	}
	safe, err := m.SafeBatch(m.Best)
	if err != nil {
		return nil, public(err)
	}
	out := &MaxAnswer{
		ID: m.ID, MaxBatch: m.MaxBatch, PeakReserved: Bytes(m.PeakReserved), Notes: notesOf(in, card.internal()),
		Best: answerOf(m.Best, s.Model), Next: answerOf(m.Next, s.Model),
	}
	if safe != nil {
		out.SureBatch = safe.Setup.Batch
	}
	return out, nil
}

// Optimize returns the settings that train a run fastest on a card, or within the setup's limit. It keeps the
// effective batch, or the one in the options; an effective batch that does not divide well is rounded down a little,
// with a note. Without a limit or a card the error is [ErrNoLimit].
func Optimize(ctx context.Context, s *Setup, card Card, o PlanOptions, opts ...Option) (*Plan, error) {
	in, err := optionsOf(opts).filled(ctx, s)
	if err != nil {
		return nil, err
	}
	at := card.internal()
	if err := o.check(in, at); err != nil {
		return nil, public(err)
	}
	p, err := plan.SearchContext(ctx, plan.Request{
		Setup: in, Card: at, Target: o.Target, Goal: plan.Goal(o.Goal), Margin: o.Margin, Reserve: uint64(o.Reserve), Lock: o.Lock, Allow: o.Allow,
	})
	if err != nil {
		return nil, public(err)
	}
	out := planOf(p, s.Model)
	for _, n := range notesOf(in, at) {
		if !slices.Contains(out.Notes, n) {
			out.Notes = append(out.Notes, n)
		}
	}
	return out, nil
}

// maxEffective is larger than any real effective batch.
const maxEffective = 1 << 30

// check returns an error for options that are wrong before anything is simulated.
func (o *PlanOptions) check(s *setup.Setup, card gpu.Card) error {
	switch {
	case card.Total == 0 && s.Limit == 0:
		return ErrNoLimit
	case o.Target < 0 || o.Target > maxEffective:
		return setup.Wrong("{target} is %d; it must be from 1 to %d, or 0 for the current one", o.Target, maxEffective)
	case card.Total > 0 && uint64(o.Reserve) >= card.Total:
		return setup.Wrong("{reserve} is %v, but the card has only %v; reserve less", o.Reserve, Bytes(card.Total))
	case o.Goal == Quick || slices.Contains(o.Lock, "attention"):
		return estimate.Runnable(s, card) // otherwise the plan may choose another attention implementation
	}
	return nil
}

// runnable returns a setup with its defaults, or an error if the run would fail on the card for reasons other than
// memory.
func (o *options) runnable(ctx context.Context, s *Setup, card Card) (*setup.Setup, error) {
	in, err := o.filled(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := estimate.Runnable(in, card.internal()); err != nil {
		return nil, public(err)
	}
	return in, nil
}
