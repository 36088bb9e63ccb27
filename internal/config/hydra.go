// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"slices"
	"strings"

	"snug/internal/config/change"
	"snug/internal/config/doc"
	"snug/internal/pattern"
)

// This file handles Hydra's command line. See projects/hydra_compose.go for how Hydra's files are composed and
// projects/hydra_main.go for the file it starts from.
//
// A script with @hydra.main accepts any value of its configuration on the command line, as in
// data.batch_size=2, which takes precedence over the files.

// hydraKey matches a key that needs no quotes in Hydra's grammar.
var hydraKey = pattern.New(`^[\w-]+$`)

// Override returns an edit as a word on Hydra's command line, data.batch_size=2; it returns "" if the
// value is not in the main tree or its name cannot be written.
func (p *Project) Override(e change.Edit) string {
	if p.Primary == nil {
		return ""
	}
	for _, l := range slices.Backward(p.Primary.Tree.Layers) {
		key := l.Mount.Join(e.Path...)
		if l.File != e.File || slices.ContainsFunc(key, func(k string) bool { return !hydraKey.In(k) }) {
			continue
		}
		found, err := p.Primary.Tree.LastSet(key)
		switch {
		case err == nil && found.File == e.File:
			return fmt.Sprintf("%s=%v", dotted(key), e.Value)
		case err != nil && e.Insert:
			return fmt.Sprintf("++%s=%v", dotted(key), e.Value)
		}
	}
	return ""
}

func dotted(p doc.Path) string { return strings.Join(p, ".") }

// IsHydra reports whether the settings are in a tree that Hydra composes.
func (p *Project) IsHydra() bool { return p.Primary != nil && p.Primary.System.Composes }
