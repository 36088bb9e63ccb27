// SPDX-License-Identifier: Apache-2.0

// Package snug says how much GPU memory a PyTorch training run takes, without
// Python and without a GPU: the run is simulated op by op, and what it allocates
// goes through a model of PyTorch's caching allocator.
//
//	setup := &snug.Setup{Model: snug.Model{Name: "llama-3.2-1b"}, Batch: 4, Seq: 2048, Precision: "bf16"}
//	answer, err := snug.Estimate(setup, snug.Card{})
//
// The command of the same name does this and more from the command line.
package snug

import (
	"bytes"
	"errors"
	"io"

	"snug/internal/estimate"
	"snug/internal/files"
	"snug/internal/gpu"
	"snug/internal/plan"
	"snug/internal/setup"
)

// Setup describes one training run. Model and Batch are required; every other
// field left empty has the default that PyTorch or transformers would give it.
type Setup = setup.Setup

// Model says which model is trained: exactly one of its sources is given.
type Model = setup.Model

// LoRA freezes all but low-rank adapters on the named linear layers.
type LoRA = setup.LoRA

// Quantization is frozen 4-bit weights of bitsandbytes: QLoRA.
type Quantization = setup.Quantization

// Dist is how a run is spread over GPUs.
type Dist = setup.Dist

// Over is a run that is spread over GPUs by a kind such as "ddp" or "fsdp2".
func Over(kind string, gpus int) *Dist { return setup.Over(kind, gpus) }

// Versions are the installed libraries; empty means the newest known.
type Versions = setup.Versions

// Card is one model of GPU. Its zero value stands for a card without an end:
// estimates then do not say whether the run fits.
type Card = gpu.Card

// Answer is what a run takes, in bytes: the peaks, what they are made of, and
// between what and what the truth is to be expected.
type Answer = estimate.Answer

// MaxAnswer is the largest batch that fits, and what it takes.
type MaxAnswer = estimate.MaxAnswer

// Plan is the settings that were chosen for a card, and why.
type Plan = plan.Plan

// PlanOptions is what a plan has to keep to. Its zero value is today's
// effective batch, the whole card, and nothing locked.
type PlanOptions struct {
	Target  int      // effective batch: batch × accumulation × GPUs
	Margin  float64  // share of the card that stays free
	Reserve uint64   // bytes of the card that are for others
	Lock    []string // fields of the setup that stay as they are
	Allow   []string // fields that may change though it changes what is trained: seq, negatives, …
}

// FindCard is the GPU of that name, such as "H100-80GB" or "RTX 4090".
func FindCard(name string) (Card, error) { return gpu.Find(name) }

// Parse reads one setup from JSON or YAML, checks it and fills in the defaults.
func Parse(text []byte) (*Setup, error) {
	raws, err := setup.Read(bytes.NewReader(text))
	switch {
	case err != nil:
		return nil, err
	case len(raws) > 1:
		return nil, errors.New("there is more than one setup")
	case raws[0].Err != nil:
		return nil, raws[0].Err
	}
	return setup.Decode(raws[0].Fields, source())
}

// Estimate says what a setup takes. Where the card or the setup has a limit, it
// says whether the run fits.
func Estimate(s *Setup, card Card) (*Answer, error) {
	filled, err := setup.Fill(s, source())
	if err != nil {
		return nil, err
	}
	return estimate.Estimate(filled, known(card))
}

// MaxBatch finds the largest batch of a setup that fits its limit and the card.
// The setup's own batch does not matter.
func MaxBatch(s *Setup, card Card) (*MaxAnswer, error) {
	one := *s
	one.Batch = 1
	filled, err := setup.Fill(&one, source())
	if err != nil {
		return nil, err
	}
	return estimate.MaxBatch(filled, known(card))
}

// Optimize finds the settings that train a setup fastest on a card, or within
// the setup's limit.
func Optimize(s *Setup, card Card, o PlanOptions) (*Plan, error) {
	filled, err := setup.Fill(s, source())
	if err != nil {
		return nil, err
	}
	if card.Total == 0 && filled.Limit == 0 {
		return nil, estimate.ErrNoLimit
	}
	return plan.Search(plan.Request{
		Setup: filled, Card: known(card), Target: o.Target, Margin: o.Margin, Reserve: o.Reserve, Lock: o.Lock, Allow: o.Allow,
	})
}

// known fills in what a card of which only the size is given leaves open.
func known(card Card) Card {
	if card.Capability != 0 {
		return card
	}
	reference := gpu.Reference
	reference.Total = card.Total
	if card.Outside > 0 {
		reference.Outside = card.Outside
	}
	return reference
}

func source() setup.Source {
	return setup.Source{Open: func(path string) (io.ReadCloser, error) { return files.Open(path) }, Profile: estimate.ReadProfile}
}
