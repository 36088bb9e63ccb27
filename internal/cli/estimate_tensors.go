// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

	"snug/internal/estimate"
	"snug/internal/shadow"
	"snug/internal/term"
	"snug/internal/units"
)

// alive lists the tensors that exist at the peak. Tensors with the same shape in each layer share one entry.
func (r estimateReport) alive(s term.Screen) (string, error) {
	groups, err := r.Groups()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("Tensors alive at the peak, with * for the layer number\n")
	for _, g := range groups[:min(r.options.top, len(groups))] {
		fmt.Fprintf(&b, "  %10s  %s\n", units.Bytes(g.Bytes()), s.Cut(r.place(g), s.Width-14))
		fmt.Fprintf(&b, "  %10s  %s\n", "", s.Cut(count(g, s), s.Width-14))
	}
	var rest uint64
	for _, g := range groups[min(r.options.top, len(groups)):] {
		rest += g.Bytes()
	}
	if rest > 0 {
		fmt.Fprintf(&b, "  %10s  in %d more kinds of tensors (see --top)\n", units.Bytes(rest), len(groups)-r.options.top)
	}
	return b.String(), nil
}

// count returns the number of tensors in a group and their shape, size and type.
func count(g estimate.Group, s term.Screen) string {
	what := g.Form.String()
	if what == "" {
		what = "memory that is not a tensor"
	}
	text := fmt.Sprintf("%d %s %s, %s", g.Count, s.Times(), what, g.Component)
	if g.Count > 1 {
		text = fmt.Sprintf("%d %s %s of %v, %s", g.Count, s.Times(), what, units.Bytes(g.Each), g.Component)
	}
	return text
}

// place returns where a group's tensors were created: the module and the op in it. Parameters and optimizer
// states have their own names.
func (r estimateReport) place(g estimate.Group) string {
	place := g.Path
	switch {
	case place != "":
	case g.Component == shadow.Logits:
		place = "the loss"
	case g.Component == shadow.Temporaries && r.decides() == "optimizer":
		place = "the optimizer's step"
	default:
		place = "outside the modules"
	}
	switch g.Component {
	case shadow.Activations, shadow.Logits, shadow.Temporaries:
		if g.Form.Op != "" {
			place += ": " + g.Form.Op
		}
	}
	return place
}
