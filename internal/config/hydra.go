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

// Hydra as the command line uses it. How Hydra's files are composed: projects/hydra_compose.go. Which file it starts from:
// projects/hydra_main.go.
//
// A script under @hydra.main accepts any value of its configuration as a word of the command,
// data.batch_size=2, which takes precedence over the files.

// hydraKey matches a key that Hydra's grammar takes without quotes.
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
		found, err := p.Primary.Tree.Stands(key)
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
