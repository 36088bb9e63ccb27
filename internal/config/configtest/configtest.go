// SPDX-License-Identifier: Apache-2.0

// Package configtest applies plans to files in memory, for tests.
package configtest

import (
	"maps"
	"testing/fstest"

	"snug/internal/config/change"
	"snug/internal/config/doc"
	"snug/internal/setup"
)

// Values returns settings in the form that a plan needs.
func Values(of map[string]any) setup.Values {
	var out setup.Values
	for name, v := range of {
		out = out.With(name, v)
	}
	return out
}

// Applied returns the files after applying a plan.
func Applied(before fstest.MapFS, edits []change.Edit, creates []change.Create) (fstest.MapFS, error) {
	after := maps.Clone(before)
	for _, e := range edits {
		d, err := doc.Open(e.File, after[e.File].Data)
		if err != nil {
			return nil, err
		}
		if d, err = e.On(d); err != nil {
			return nil, err
		}
		after[e.File] = &fstest.MapFile{Data: d.Bytes()}
	}
	for _, f := range creates {
		after[f.File] = &fstest.MapFile{Data: f.Content}
	}
	return after, nil
}
