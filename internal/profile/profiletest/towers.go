// SPDX-License-Identifier: Apache-2.0

// Package profiletest provides a profile for tests of packages that plan with one.
package profiletest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"snug/internal/profile"
	"snug/internal/snapshot"
)

// Towers returns the profile of a model that no family covers, recorded on an H200 at batch 64 and 96. The test adds
// other facts.
func Towers(t testing.TB) *profile.Program {
	t.Helper()
	var inputs []profile.Input
	for _, batch := range []int64{64, 96} {
		name := fmt.Sprintf("two-tower-b%d-s128-amp-fp16-adamw-stacks", batch)
		inputs = append(inputs, profile.Input{Name: name, At: profile.Point{"batch": batch}, Recording: recording(t, name)})
	}
	p, err := profile.Fit(inputs)
	if err != nil {
		t.Fatal(err)
	}
	p.Card = "NVIDIA H200"
	return p
}

// recording reads a file in testdata/measured/traces, relative to a package that is two folders deep.
func recording(t testing.TB, name string) *snapshot.Recording {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "testdata", "measured", "traces", name+".pickle.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := snapshot.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
