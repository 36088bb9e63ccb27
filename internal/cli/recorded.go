// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

	"snug/internal/profile"
)

// recordedText is where a profile comes from.
func recordedText(p *profile.Program) string {
	var sizes []string
	for _, at := range p.Recorded() {
		sizes = append(sizes, at.String())
	}
	text := "recorded at " + strings.Join(sizes, " and ")
	if len(sizes) > 3 {
		text = fmt.Sprintf("recorded at %d sizes from %s on", len(sizes), sizes[0])
	}
	if p.Facts.Model != "" {
		text = p.Facts.Model + ", " + text
	}
	if p.Card != "" {
		text += " on " + p.Card
	}
	return text
}
