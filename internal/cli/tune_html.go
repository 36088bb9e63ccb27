// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"strings"

	"snug/internal/term"
	"snug/internal/tune"
	"snug/internal/units"
)

//go:embed tune_page.html
var tunePage string

// pageData is the content of the page, which is self-contained: no script, no font, no image.
type pageData struct {
	Title, Conclusion, Run, Set string
	Chart                       pageChart
	Header                      []string
	Rows                        []pageRow
	Decisions, Notes            []string
	Diff                        []pageLine
}

type pageRow struct {
	Best  bool
	Cells []string
}

type pageLine struct{ Class, Text string }

// page writes the report as one HTML file.
func (t *tuner) page(files *applyReport) error {
	page, err := template.New("tune").Parse(tunePage)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := page.Execute(&b, t.pageData(files)); err != nil {
		return fmt.Errorf("generating the page: %w", err)
	}
	return t.env.write(t.o.html, b.Bytes())
}

func (t *tuner) pageData(files *applyReport) pageData {
	plain := term.Screen{Width: 1 << 20}
	table, best := t.table(plain), t.climb.Best()
	out := pageData{Title: t.title(), Conclusion: t.conclusion(), Run: t.commandLine(), Header: table.Header, Notes: t.allNotes(), Chart: newPageChart(t.lines, t.limit, best)}
	for i, cells := range table.Rows {
		out.Rows = append(out.Rows, pageRow{best != nil && t.lines[i].Key() == best.Key(), cells})
	}
	for _, s := range t.steps {
		text := s.Verb
		if s.Next != nil {
			text += " to " + s.Next.Name()
		}
		out.Decisions = append(out.Decisions, text+": "+s.Why)
	}
	if files != nil && best != nil {
		out.Set = best.Settings.Changed(t.current).String()
		diff, _ := files.change.Shown(widestLine)
		for line := range strings.Lines(string(diff)) {
			out.Diff = append(out.Diff, diffLine(strings.TrimRight(line, "\n")))
		}
	}
	return out
}

func diffLine(text string) pageLine {
	switch {
	case strings.HasPrefix(text, "+") && !strings.HasPrefix(text, "+++"):
		return pageLine{"add", text}
	case strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "---"):
		return pageLine{"cut", text}
	}
	return pageLine{"", text}
}

// pageChart is the chart of samples per second against memory, in the chart's coordinates.
type pageChart struct {
	Width, Height            int
	Left, Right, Top, Bottom int
	LeftText, BottomText     int
	Across, Up               []pageMark
	Limit                    *pageMark
	Dots, Failed             []pageDot
}

type pageMark struct {
	At   int
	Text string
}

type pageDot struct {
	X, Y int
	Text string
	Best bool
}

// newPageChart places the trials in the chart.
func newPageChart(trials []trialRecord, limit uint64, best *tune.Trial) pageChart {
	c := pageChart{Width: 720, Height: 340, Left: 70, Right: 700, Top: 20, Bottom: 300, LeftText: 62, BottomText: 318}
	most, fastest := float64(limit), 0.0
	for _, x := range trials {
		most, fastest = max(most, float64(x.Reserved), float64(x.Predicted)), max(fastest, x.Rate)
	}
	if most == 0 || fastest == 0 {
		most, fastest = max(most, 1), max(fastest, 1)
	}
	most, fastest = most*1.05, fastest*1.1
	across := func(bytes float64) int { return c.Left + int(float64(c.Right-c.Left)*bytes/most) }
	up := func(rate float64) int { return c.Bottom - int(float64(c.Bottom-c.Top)*rate/fastest) }
	for i := range 5 {
		share := float64(i) / 4
		c.Across = append(c.Across, pageMark{up(fastest * share), term.ThreeDigits(fastest * share)})
		c.Up = append(c.Up, pageMark{across(most * share), units.Bytes(uint64(most * share)).String()})
	}
	if limit > 0 {
		c.Limit = &pageMark{across(float64(limit)), "limit " + units.Bytes(limit).String()}
	}
	for _, x := range trials {
		if x.Outcome == tune.Fits {
			c.Dots = append(c.Dots, pageDot{across(float64(x.Reserved)), up(x.Rate), x.Name(), best != nil && x.Key() == best.Key()})
			continue
		}
		c.Failed = append(c.Failed, pageDot{across(float64(max(x.Predicted, x.Reserved))), c.Bottom - 14, x.Name() + ": " + outcomeText(x.Result), false})
	}
	return c
}
