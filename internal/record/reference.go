// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/json"
	"errors"
	"maps"

	"snug/internal/profile"
	"snug/internal/run"
	"snug/internal/setup"
)

// Reference describes the recorded run as a setup, so that its memory can be compared with an estimate.
type Reference struct {
	fields map[string]any
	source setup.Source
	base   *setup.Setup // the decoded setup, if there is one
}

// NewReference returns a reference to a setup given by its fields.
func NewReference(fields map[string]any, source setup.Source) *Reference {
	return &Reference{fields: fields, source: source}
}

// ReferenceTo returns a reference to a decoded setup. The accumulation and the number of steps are taken from the run
// itself.
func ReferenceTo(s *setup.Setup, source setup.Source) (*Reference, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	r := &Reference{source: source, base: s}
	if err := json.Unmarshal(text, &r.fields); err != nil {
		return nil, err
	}
	if m, _ := r.fields["model"].(map[string]any); m["config"] != nil {
		delete(m, "name") // the name has already been looked up
	}
	return r, nil
}

// Check decodes the setup at a size, because a mistake in it would otherwise show only after the runs. A model
// without a family is not a mistake.
func (r *Reference) Check(at profile.Point) error {
	if _, _, err := r.decode(at, &run.Report{}); err != nil && !errors.Is(err, setup.ErrUnknownModel) {
		return err
	}
	return nil
}

// decode returns the setup of a measured run, with the run's own sizes and versions, and the fields it was decoded
// from.
func (r *Reference) decode(at profile.Point, x *run.Report) (*setup.Setup, map[string]any, error) {
	fields := r.at(at, x)
	s, err := setup.Decode(fields, r.source)
	if err == nil && r.base != nil {
		s.Model.Name = r.base.Model.Name
	}
	return s, fields, err
}

// at returns the setup's fields, overridden by the run's.
func (r *Reference) at(at profile.Point, x *run.Report) map[string]any {
	fields := maps.Clone(r.fields)
	for name, n := range at {
		fields[name] = float64(n)
	}
	if steps := x.Steps; r.base != nil && len(steps) > 0 && steps[len(steps)-1].Backwards > 0 {
		fields["accumulation"], fields["steps"] = float64(steps[len(steps)-1].Backwards), float64(len(steps))
	}
	versions := map[string]any{}
	if given, ok := fields["versions"].(map[string]any); ok {
		versions = maps.Clone(given)
	}
	for _, name := range []string{"torch", "transformers", "cuda"} {
		if v := plainVersion(x.Versions[name]); v != "" {
			versions[name] = v
		}
	}
	fields["versions"] = versions
	return fields
}
