// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"snug/internal/diagnose"
	"snug/internal/term"
	"snug/internal/units"
)

// diagnoseAnswer is the verdict as --json prints it.
type diagnoseAnswer struct {
	Verdict    diagnose.Code       `json:"verdict"`
	Why        string              `json:"why"`
	Where      string              `json:"where,omitempty"`
	Numbers    map[string]uint64   `json:"numbers"`
	Holders    []holderAnswer      `json:"holders"`
	Growth     *growthAnswer       `json:"growth,omitempty"`
	Fixes      []fixAnswer         `json:"fixes"`
	Confidence diagnose.Confidence `json:"confidence"`
	Expandable *bool               `json:"expandable_segments_fit,omitempty"` // from a replay; nil if not replayed
	Pieces     *piecesAnswer       `json:"pieces,omitempty"`
	Changes    []changeAnswer      `json:"changes,omitempty"`
}

type piecesAnswer struct {
	Segments int    `json:"segments"`
	Unused   uint64 `json:"unused"`
	Free     int    `json:"free_pieces"`
	Largest  uint64 `json:"largest_free"`
}

type changeAnswer struct {
	What   string `json:"what"`
	Before uint64 `json:"before"`
	After  uint64 `json:"after"`
	Where  string `json:"where,omitempty"`
}

type holderAnswer struct {
	What  string `json:"what"`
	Bytes uint64 `json:"bytes"`
	Where string `json:"where,omitempty"`
}

type growthAnswer struct {
	BytesPerStep uint64 `json:"bytes_per_step"`
	Where        string `json:"where"`
}

type fixAnswer struct {
	Change  string `json:"change"`
	Saves   uint64 `json:"saves,omitempty"`
	Command string `json:"command,omitempty"`
}

// shownHolders is how many users of memory are listed.
const shownHolders = 12

func diagnosis(v *diagnose.Verdict) diagnoseAnswer {
	a := diagnoseAnswer{Verdict: v.Code, Why: v.Why, Where: v.Where, Numbers: map[string]uint64{}, Holders: []holderAnswer{}, Fixes: []fixAnswer{}, Confidence: v.Confidence}
	for _, n := range v.Numbers() {
		a.Numbers[n.Name] = n.Bytes
	}
	for _, h := range v.Holders[:min(len(v.Holders), shownHolders)] {
		a.Holders = append(a.Holders, holderAnswer{h.What, h.Bytes, h.Place()})
	}
	if g := v.Growth; g != nil {
		a.Growth = &growthAnswer{g.BytesPerStep, g.Where}
	}
	for _, f := range v.Fixes {
		a.Fixes = append(a.Fixes, fixAnswer{f.Change, f.Saves, f.Command})
	}
	if r := v.Retry; r != nil && !r.Unsure {
		a.Expandable = &r.Fits
	}
	if p := v.Pieces; p != nil {
		a.Pieces = &piecesAnswer{p.Segments, p.Unused, p.Free, p.Largest}
	}
	for _, c := range v.Changes {
		a.Changes = append(a.Changes, changeAnswer{c.What, c.Before, c.After, c.Place()})
	}
	return a
}

// diagnosisText writes the verdict for people.
func diagnosisText(v *diagnose.Verdict, s term.Screen) string {
	var b strings.Builder
	title := v.Code.Title()
	if v.Confidence != diagnose.Certain {
		title += " (" + string(v.Confidence) + ")"
	}
	b.WriteString(s.Paint(term.Bold, title) + "\n")
	indented(&b, s, v.Why+".")
	if v.Where != "" {
		fmt.Fprintf(&b, "  at %s\n", v.Where)
	}
	block(&b, s, "", numberRows(v))
	held := "What used the memory"
	if v.AtPeak {
		held += " at the peak"
	}
	block(&b, s, held, holderRows(v))
	block(&b, s, "From the first snapshot to the second", changeRows(v))
	if v.Compared && len(v.Changes) == 0 {
		b.WriteString("\nAt the end of both snapshots, every line holds the same amount of memory.\n")
	}
	if g := v.Growth; g != nil {
		fmt.Fprintf(&b, "\n  %v more after each step, kept at %s\n", units.Bytes(g.BytesPerStep), g.Where)
	}
	b.WriteString(piecesText(v, s))
	if len(v.Fixes) > 0 {
		b.WriteString("\n" + s.Paint(term.Bold, "What to do") + "\n")
		for _, f := range v.Fixes {
			writeFix(&b, s, f)
		}
	}
	return b.String()
}

// writeFix writes what to do. A command that does not fit on the line gets its own line and is not wrapped, so
// that it can be copied.
func writeFix(b *strings.Builder, s term.Screen, f diagnose.Fix) {
	text, command := f.Text(), f.Command
	if command == "" || utf8.RuneCountInString(text) <= s.Width-2 {
		indented(b, s, text)
		return
	}
	f.Command = ""
	indented(b, s, f.Text()+":")
	b.WriteString("    " + command + "\n")
}

// indented writes text in indented lines that fit the screen.
func indented(b *strings.Builder, s term.Screen, text string) {
	const indent = "  "
	for _, line := range wrap(strings.Fields(text), " ", s.Width-len(indent)) {
		b.WriteString(indent + line + "\n")
	}
}

func block(b *strings.Builder, s term.Screen, title string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	b.WriteString("\n")
	if title != "" {
		b.WriteString(s.Paint(term.Bold, title) + "\n")
	}
	for _, line := range s.Table(term.Table{Rows: rows, Right: []int{1}, Indent: 2}) {
		b.WriteString(line + "\n")
	}
}

func numberRows(v *diagnose.Verdict) (rows [][]string) {
	for _, n := range v.Numbers() {
		rows = append(rows, []string{n.Text, units.Bytes(n.Bytes).String()})
	}
	return rows
}

func holderRows(v *diagnose.Verdict) (rows [][]string) {
	for _, h := range v.Holders[:min(len(v.Holders), shownHolders)] {
		rows = append(rows, []string{h.What, units.Bytes(h.Bytes).String(), h.Place()})
	}
	return rows
}

// changeRows lists what changed between two snapshots.
func changeRows(v *diagnose.Verdict) (rows [][]string) {
	for _, c := range v.Changes[:min(len(v.Changes), shownHolders)] {
		sign, grown := "+", c.Grown()
		if grown < 0 {
			sign, grown = "-", -grown
		}
		rows = append(rows, []string{c.What, sign + units.Bytes(grown).String(), c.Place()})
	}
	return rows
}

// leastUnused is the share of reserved memory that must be unused for its map to be shown.
const leastUnused = 0.03

// piecesText draws the reserved memory, from its lowest address to its highest.
func piecesText(v *diagnose.Verdict, s term.Screen) string {
	p := v.Pieces
	if p == nil || v.Code == diagnose.None || float64(p.Unused) < leastUnused*float64(p.Reserved) {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n" + s.Paint(term.Bold, "Reserved memory, by address") + "\n")
	shades := []rune(" .:*#")
	if s.Unicode {
		shades = []rune("·░▒▓█")
	}
	b.WriteString("  ")
	for _, used := range p.Map(max(8, min(64, s.Width-4))) {
		b.WriteRune(shades[int(used*float64(len(shades)-1)+0.5)])
	}
	b.WriteString("\n")
	indented(&b, s, fmt.Sprintf("%d segments; %v unused in %d pieces, the largest %v", p.Segments, units.Bytes(p.Unused), p.Free, units.Bytes(p.Largest)))
	return b.String()
}
