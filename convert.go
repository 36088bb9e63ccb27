// SPDX-License-Identifier: Apache-2.0

package snug

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/plan"
	"snug/internal/setup"
)

// This file is the one place that converts between the types of this package and the internal ones. Setups are
// converted through their common JSON fields, so the internal table of settings checks them like a file; a test
// compares the table with Setup. Answers are copied field by field.

// filled checks a setup and fills in its defaults.
func (o *options) filled(ctx context.Context, s *Setup) (*setup.Setup, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s == nil {
		return nil, &FieldError{Field: "model", Message: "the setup is nil; model and batch are required", kind: ErrUnknownModel}
	}
	fields, err := fieldsOf(s)
	if err != nil {
		return nil, err
	}
	if err := o.lookedUp(ctx, fields); err != nil {
		return nil, err
	}
	in, err := setup.Decode(fields, o.source(ctx))
	if err != nil {
		return nil, public(err)
	}
	if in.Model.Name == "" {
		in.Model.Name = s.Model.Name // a hub has replaced the name with a config
	}
	if !in.Model.Known() {
		return nil, unknownType(in)
	}
	return in, nil
}

// unknownType returns an error if the model_type of a model's config is unknown.
func unknownType(in *setup.Setup) error {
	return &FieldError{
		Field:   "model.config",
		Message: "model_type \"" + in.Model.Family() + "\" is not known; record a profile: snug profile -- <your command>",
		kind:    ErrUnknownModel,
	}
}

// fieldsOf returns a setup as the fields of a setup file.
func fieldsOf(s *Setup) (map[string]any, error) {
	data, err := json.Marshal(s)
	if err != nil {
		var field *FieldError // encoding/json wraps the FieldError
		if errors.As(err, &field) {
			return nil, field
		}
		return nil, err
	}
	var fields map[string]any
	return fields, json.Unmarshal(data, &fields)
}

// setConfig sets the model's config in the fields of a setup, with numbers as in decoded JSON.
func setConfig(model map[string]any, config map[string]any) error {
	data, err := json.Marshal(config)
	if err != nil {
		return err
	}
	var plain map[string]any
	if err := json.Unmarshal(data, &plain); err != nil {
		return err
	}
	model["config"] = plain
	return nil
}

// setupOf returns the public form of an internal setup, with the model as the caller gave it.
func setupOf(in *setup.Setup, model Model) *Setup {
	if in == nil {
		return nil
	}
	plain := *in
	plain.Model = setup.Model{Head: in.Model.Head}
	if l := in.Lengths; l != nil {
		text, _ := json.Marshal(l.String())
		plain.Lengths = &setup.Lengths{Given: text}
	}
	out := &Setup{}
	if data, err := json.Marshal(&plain); err == nil {
		_ = json.Unmarshal(data, (*plainSetup)(out)) // tests check that both types have the same fields
	}
	head := out.Model.Head
	out.Model, out.Sizes = model, in.Sizes
	out.Model.Head = head
	return out
}

// cardOf returns the public form of an internal card.
func cardOf(c gpu.Card) Card {
	return Card{
		Name: c.Name, Maker: string(c.Maker), Memory: c.Memory, Total: Bytes(c.Total), TotalSeen: c.Seen, Outside: Bytes(c.Outside),
		OutsideMeasured: c.Measured, Arch: c.Arch, Capability: c.Capability, SMs: c.SMs, Bandwidth: c.Bandwidth,
		Rates: Rates(c.Rates), Link: c.Link, Network: c.Network, Unnamed: c.Unnamed, Least: c.Least, Resized: c.Resized,
	}
}

// internal returns the internal form of a card. If only the memory is known, everything else is taken from the
// reference card.
func (c Card) internal() gpu.Card {
	if c.Name == "" && c.Capability == 0 && c.Arch == "" {
		return c.internalUnnamed()
	}
	return gpu.Card{
		Name: c.Name, Maker: gpu.Maker(c.Maker), Memory: c.Memory, Total: uint64(c.Total), Seen: c.TotalSeen, Outside: uint64(c.Outside),
		Measured: c.OutsideMeasured, Arch: c.Arch, Capability: c.Capability, SMs: c.SMs, Bandwidth: c.Bandwidth,
		Rates: gpu.Rates(c.Rates), Link: c.Link, Network: c.Network, Unnamed: c.Unnamed, Least: c.Least, Resized: c.Resized,
	}
}

func (c Card) internalUnnamed() gpu.Card {
	out := gpu.Reference
	out.Total = 0
	if c.Total > 0 {
		out = gpu.ForMemory(uint64(c.Total))
	}
	if c.Outside > 0 {
		out.Outside = uint64(c.Outside)
	}
	return out
}

// answerOf returns the public form of an estimate, with the model as the caller gave it.
func answerOf(a *estimate.Answer, model Model) *Answer {
	if a == nil {
		return nil
	}
	return &Answer{
		ID: a.ID, PeakAllocated: Bytes(a.PeakAllocated), PeakReserved: Bytes(a.PeakReserved), Outside: Bytes(a.Outside),
		DevicePeak: Bytes(a.DevicePeak), Phases: phasesOf(a.Phases), Components: componentsOf(a.Components),
		Params: a.Params, Trainable: a.Trainable, StepSeconds: a.StepSeconds, Fits: a.Fits, Versions: Versions(a.Versions), Source: Source(a.Source),
		Interval: [2]Bytes{Bytes(a.Interval[0]), Bytes(a.Interval[1])}, Evidence: (*Evidence)(a.Evidence), Lengths: varyingOf(a.Lengths), Setup: setupOf(a.Setup, model),
	}
}

func varyingOf(v *estimate.Varying) *Varying {
	if v == nil {
		return nil
	}
	out := &Varying{Steps: v.Steps, Longest: v.Longest, PeakStep: v.PeakStep, PeakLength: v.PeakAt, Orders: v.Orders, Remedies: make([]Remedy, len(v.Remedies))}
	if v.Spread != nil {
		out.Spread = &[2]Bytes{Bytes(v.Spread[0]), Bytes(v.Spread[1])}
	}
	for _, g := range v.Growth {
		out.Growth = append(out.Growth, [2]Bytes{Bytes(g[0]), Bytes(g[1])})
	}
	for i, r := range v.Remedies {
		out.Remedies[i] = Remedy{r.Change, Bytes(r.PeakReserved), Bytes(r.Saves)}
	}
	return out
}

func phasesOf(p estimate.Phases) Phases {
	return Phases{Load: Bytes(p.Load), Forward: Bytes(p.Forward), Backward: Bytes(p.Backward), Optimizer: Bytes(p.Optimizer), Evaluation: Bytes(p.Evaluation)}
}

func componentsOf(c estimate.Components) Components {
	return Components{
		Parameters: Bytes(c.Parameters), Gradients: Bytes(c.Gradients), Optimizer: Bytes(c.Optimizer), Activations: Bytes(c.Activations),
		Logits: Bytes(c.Logits), Batch: Bytes(c.Batch), Temporaries: Bytes(c.Temporaries), Workspace: Bytes(c.Workspace),
		Fragmentation: Bytes(c.Fragmentation), Recorded: c.Recorded,
	}
}

// notesOf returns the notes on a run on a card, with field names in place of flags.
func notesOf(s *setup.Setup, card gpu.Card) []string {
	notes := estimate.NotesNamed(s, card, func(field string) string { return field })
	return slices.Concat(notes, estimate.Uncounted(s))
}

// planOf returns the public form of a plan, with the model as the caller gave it.
func planOf(p *plan.Plan, model Model) *Plan {
	out := &Plan{
		GPU: p.GPU, Current: choiceOf(p.Current, model), Recommended: choiceOf(p.Recommended, model),
		Ladder: []Rung{}, Levers: []Lever{}, Rejected: []Rejection{}, Files: []FileChange{},
		Target: p.Target, Room: Bytes(p.Room), Notes: p.Notes, Least: choiceOf(p.Least, model), Rescue: p.Rescue, Rescued: choiceOf(p.Rescued, model),
	}
	for _, r := range p.Ladder {
		out.Ladder = append(out.Ladder, Rung{Name: r.Name, Share: r.Share, Choice: choiceOf(r.Choice, model), Risk: r.Risk})
	}
	for _, l := range p.Levers {
		out.Levers = append(out.Levers, Lever{Change: l.Change, Saves: Bytes(l.Saves), Costs: l.Costs})
	}
	for _, r := range p.Rejected {
		out.Rejected = append(out.Rejected, Rejection{Settings: settingsOf(r.Settings), Why: r.Why, Change: r.Change})
	}
	for _, f := range p.Files {
		out.Files = append(out.Files, FileChange(f))
	}
	return out
}

func choiceOf(c *plan.Choice, model Model) *Choice {
	if c == nil {
		return nil
	}
	return &Choice{
		Settings: settingsOf(c.Settings), Estimate: answerOf(c.Estimate, model),
		SamplesPerSecond: c.SamplesPerSecond, Change: c.Change,
	}
}

func settingsOf(values setup.Values) Settings {
	out := Settings{}
	for _, v := range values {
		out[v.Setting] = v.Value
	}
	return out
}
