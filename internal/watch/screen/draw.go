// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"

	"snug/internal/term"
	"snug/internal/units"
	"snug/internal/watch"
	"snug/internal/watch/export"
)

// Canvas describes the screen: its size and what it can show.
type Canvas struct {
	Width, Height int      // in characters
	Color         bool     // the screen shows colors
	Unicode       bool     // the screen shows block characters
	Card          int      // the card whose curve is shown, as an index in the list
	Paused        bool     // the view is frozen
	Speed         float64  // speed of a replay; 0 means live
	Title         string   // what is watched
	Output        []string // the last lines that the run printed
}

// The smallest screen size that is drawn; a smaller terminal shows part of it.
const (
	leastWidth  = 40
	leastHeight = 10
)

// Draw returns the whole screen: exactly Height lines, none wider than Width.
func Draw(v watch.View, c Canvas) string {
	c.Width, c.Height = max(c.Width, leastWidth), max(c.Height, leastHeight)
	head := append([]string{c.heading(v)}, c.verdict(v)...)
	cards := c.cards(v)
	procs := c.processes(v)
	tail := c.tail(v)
	room := c.Height - len(head) - len(tail)
	cards, procs = c.share(cards, procs, room)
	rows := room - len(cards) - len(procs)
	lines := append(head, cards...)
	if chart := c.chart(v, rows); len(chart) > 0 {
		lines = append(lines, chart...)
	}
	lines = append(lines, procs...)
	for len(lines) < c.Height-len(tail) {
		lines = append(lines, "")
	}
	lines = append(lines[:c.Height-len(tail)], tail...)
	cut := lipgloss.NewStyle().MaxWidth(c.Width)
	for i, l := range lines {
		lines[i] = cut.Render(l)
	}
	return strings.Join(lines, "\n")
}

// leastChart is the minimum number of rows for a curve, including its axis.
const leastChart = 5

// share assigns rows to the lists of cards and processes; the curve gets the rest.
func (c Canvas) share(cards, procs []string, room int) ([]string, []string) {
	if most := max(2, room-leastChart-len(cards)); len(procs) > most {
		hidden := len(procs) - most + 1
		procs = append(procs[:most-1:most-1], c.dim(fmt.Sprintf("    and %d more", hidden)))
	}
	if most := max(3, room-len(procs)-leastChart); len(cards) > most { // the first line is empty
		first := max(0, 1+c.Card%(len(cards)-1)-(most-2))
		shown := append([]string{cards[0]}, cards[1+first:first+most-1]...)
		cards = append(shown, c.dim(fmt.Sprintf("    and %d more GPUs", len(cards)-len(shown))))
	}
	return cards, procs
}

func (c Canvas) heading(v watch.View) string {
	right := export.Clock(v.T)
	if step := v.Reading.Step; step > 0 {
		right += fmt.Sprintf("   step %s", term.Count(step))
	}
	for _, p := range v.Processes {
		if p.Seconds > 0 {
			right += fmt.Sprintf("   %s s/step", term.ThreeDigits(p.Seconds))
			break
		}
	}
	left := "snug watch"
	if room := c.Width - lipgloss.Width(left) - lipgloss.Width(right) - 4; c.Title != "" {
		left += "  " + term.Screen{Unicode: c.Unicode}.CutCell(c.Title, room)
	}
	return c.bold(c.apart(left, right))
}

// apart puts two texts at opposite ends of a line.
func (c Canvas) apart(left, right string) string {
	room := c.Width - lipgloss.Width(right) - 2
	if lipgloss.Width(left) > room {
		left = lipgloss.NewStyle().MaxWidth(max(0, room)).Render(left)
	}
	return left + strings.Repeat(" ", max(1, c.Width-lipgloss.Width(left)-lipgloss.Width(right))) + right
}

// verdict returns the state, how long memory will last, the evidence and the advice.
func (c Canvas) verdict(v watch.View) []string {
	r := v.Reading
	lines := []string{c.stateLine(v)}
	more := 2
	switch {
	case c.Height > 30:
		more = 4
	case c.Height >= 24 && len(v.Cards) <= 4:
		more = 3
	}
	lines = append(lines, c.wrap(sentence(r.Why), more)...)
	if r.Advice != "" {
		lines = append(lines, c.wrap(c.arrow()+" "+sentence(r.Advice), more)...)
	}
	return append(lines, c.prediction(v)...)
}

// stateLine returns the state, how long memory will last, and whose state it is. What does not fit is left out: a number that is cut
// would be wrong.
func (c Canvas) stateLine(v watch.View) string {
	r := v.Reading
	first, whose := c.badge(r.State), ""
	if r.PID > 0 {
		whose = "  (" + who(v, r.PID) + ")"
	}
	for _, left := range export.LeftInWords(r) {
		for _, end := range []string{whose, ""} {
			if line := first + "  " + c.bold(left) + end; lipgloss.Width(line) <= c.Width {
				return line
			}
		}
	}
	return first + whose
}

// prediction returns the lines that compare the run with its prediction, if there is one.
func (c Canvas) prediction(v watch.View) []string {
	if v.Expected == nil {
		return nil
	}
	var first *watch.Deviation
	compared := false
	for _, p := range v.Processes {
		compared = compared || p.Trained > 0
		if p.Deviation != nil && (first == nil || p.Deviation.Step < first.Step) {
			first = p.Deviation
		}
	}
	switch {
	case first != nil:
		return c.wrap("Not as predicted: "+first.Why+".", 3)
	case !compared:
		want := v.Expected.Highest()
		return c.wrap(fmt.Sprintf("Predicted: steps allocate %v, and PyTorch reserves %v.", units.Bytes(want.Allocated), units.Bytes(want.Reserved)), 1)
	}
	return []string{c.dim(fmt.Sprintf("As predicted: steps allocate up to %v.", units.Bytes(v.Expected.Highest().Allocated)))}
}

// who returns the name of a process for people: its rank, or its number.
func who(v watch.View, pid int) string {
	for _, p := range v.Processes {
		if p.PID == pid && p.Rank != nil {
			return fmt.Sprintf("rank %d", *p.Rank)
		}
	}
	return fmt.Sprintf("process %d", pid)
}

func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

func (c Canvas) arrow() string {
	if c.Unicode {
		return "→"
	}
	return "->"
}

// wrap breaks a text between words, into at most "most" lines.
func (c Canvas) wrap(text string, most int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && lipgloss.Width(line)+1+lipgloss.Width(word) > c.Width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		lines = append(lines, line)
	}
	if len(lines) > most {
		lines = lines[:most]
		last := lines[most-1]
		if at := strings.LastIndexByte(last, ' '); at > 0 && lipgloss.Width(last) > c.Width-4 {
			last = last[:at]
		}
		lines[most-1] = lipgloss.NewStyle().MaxWidth(c.Width-4).Render(last) + " ..."
	}
	return lines
}

// cards returns one line for each card.
func (c Canvas) cards(v watch.View) []string {
	if len(v.Cards) == 0 {
		return []string{"", c.dim("no GPU sample yet")}
	}
	out := []string{""}
	width := 0
	for _, x := range v.Cards {
		width = max(width, len(x.Device().String()))
	}
	for i, x := range v.Cards {
		mark := "  "
		if i == c.Card%len(v.Cards) && len(v.Cards) > 1 {
			mark = "> "
		}
		out = append(out, mark+c.card(x, width))
	}
	return out
}

// card returns the line of a card. Names of devices are padded to a width.
func (c Canvas) card(x watch.CardView, width int) string {
	name := ""
	if x.Name != "" {
		name = fmt.Sprintf("%-12s ", shortName(x.Name))
	}
	text := fmt.Sprintf("%-*s %s%s %9s of %9s", width, x.Device(), name, c.bar(float64(x.Used), float64(x.Total), c.barWidth()), units.Bytes(x.Used), units.Bytes(x.Total))
	if x.Silent { // the other values are no longer true
		return text + "  " + c.bold("no response")
	}
	slowed := strings.Join(x.Throttle, ", ")
	switch {
	case x.Util != nil && slowed != "" && c.Width < wide:
		text, slowed = text+fmt.Sprintf(" %3.0f %%, %s", *x.Util, slowed), ""
	case x.Util != nil:
		text += fmt.Sprintf(" %3.0f %% busy", *x.Util)
	}
	if x.Power != nil && c.Width >= wide {
		text += fmt.Sprintf("  %4.0f W", *x.Power)
		if x.PowerLimit != nil {
			text += fmt.Sprintf(" of %.0f", *x.PowerLimit)
		}
	}
	if x.Temperature != nil && c.Width >= 90 {
		text += fmt.Sprintf("  %3.0f °C", *x.Temperature)
	}
	if slowed != "" {
		text += "  slowed: " + slowed
	}
	return text
}

// wide is the minimum width at which more than memory and load is shown.
const wide = 100

// shortName returns the name of a card in at most twelve columns: whole words, without the manufacturer.
func shortName(name string) string {
	const most = 12
	for _, maker := range []string{"NVIDIA ", "AMD ", "GeForce ", "Instinct "} {
		name = strings.TrimPrefix(name, maker)
	}
	if len(name) <= most {
		return name
	}
	if i := strings.LastIndexByte(name[:most+1], ' '); i > 0 {
		return name[:i]
	}
	return name[:most]
}

func (c Canvas) barWidth() int { return min(40, max(8, c.Width/5-4)) }

// bar draws value as a fraction of full, as a bar of a fixed width.
func (c Canvas) bar(value, full float64, width int) string {
	s := term.Screen{Unicode: c.Unicode}
	bar := s.Bar(uint64(max(value, 0)), uint64(max(full, 1)), width)
	return bar + c.dim(strings.Repeat(s.Shade(), max(0, width-lipgloss.Width(bar))))
}

// processes returns one line for each process, watched ones first.
func (c Canvas) processes(v watch.View) []string {
	if len(v.Processes) == 0 {
		return nil
	}
	out := []string{""}
	for _, watched := range []bool{true, false} {
		for _, p := range v.Processes {
			if p.Watched == watched {
				out = append(out, "  "+c.process(p, v))
			}
		}
	}
	return out
}

func (c Canvas) process(p watch.ProcessView, v watch.View) string {
	name := ""
	if p.Name != "" {
		name = fmt.Sprintf("%-10.10s ", p.Name[strings.LastIndexByte(p.Name, '/')+1:])
	}
	total := p.Capacity
	for _, x := range v.Cards {
		if x.Device() == p.GPU && total == 0 {
			total = float64(x.Total)
		}
	}
	held := float64(max(p.Used, p.Step.Reserved))
	if p.Rank != nil && c.Width < wide {
		name = ""
	}
	if p.Rank != nil {
		name = fmt.Sprintf("rank %-2d %s", *p.Rank, name)
	}
	text := fmt.Sprintf("%7d %s%s %9s", p.PID, name, c.bar(held, total, c.barWidth()), units.Bytes(held))
	if p.Util != nil && !p.Gone && c.Width >= wide {
		text += fmt.Sprintf(" %3.0f %% busy", *p.Util)
	}
	switch {
	case p.Gone:
		text += "  gone"
	case p.Watched:
		text += "  " + string(p.State)
	default:
		text += c.dim("  not watched")
	}
	if p.Step.N == 0 {
		return text
	}
	peak := fmt.Sprintf("peak %s", units.Bytes(p.Step.PeakAllocated))
	for _, more := range []string{fmt.Sprintf("; tensors %s, %s", units.Bytes(p.Step.Allocated), peak), "; " + peak} {
		if lipgloss.Width(text)+len(more) <= c.Width-2 { // two columns are margin
			return text + more
		}
	}
	return text
}

// tail returns the latest note, the run's output, and the keys.
func (c Canvas) tail(v watch.View) []string {
	var out []string
	if n := len(v.Notes); n > 0 {
		rows := 1
		if c.Height >= 24 {
			rows = 2
		}
		for _, line := range c.wrap(fmt.Sprintf("%s %s", export.Clock(v.Notes[n-1].T), v.Notes[n-1].Text), rows) {
			out = append(out, c.dim(line))
		}
	}
	if most := c.Height / 4; len(c.Output) > 0 && c.Height >= 20 {
		out = append(out, c.dim(strings.Repeat(c.rule(), c.Width)))
		out = append(out, c.Output[max(0, len(c.Output)-most):]...)
	}
	return append(out, c.dim(c.keys(v)))
}

func (c Canvas) rule() string {
	if c.Unicode {
		return "─"
	}
	return "-"
}

func (c Canvas) keys(v watch.View) string {
	keys := "q quit   space pause"
	if c.Paused {
		keys = "q quit   space resume (paused)"
	}
	if len(v.Cards) > 1 {
		keys += "   tab next GPU"
	}
	if c.Speed > 0 {
		keys += fmt.Sprintf("   + - speed (%gx)", c.Speed)
	}
	if v.Ended {
		keys += "   (ended)"
	}
	return keys
}

func (c Canvas) bold(text string) string { return c.style(lipgloss.NewStyle().Bold(true), text) }
func (c Canvas) dim(text string) string  { return c.style(lipgloss.NewStyle().Faint(true), text) }

func (c Canvas) style(s lipgloss.Style, text string) string {
	if !c.Color || text == "" {
		return text
	}
	return s.Render(text)
}

// badge returns the state, colored by urgency.
func (c Canvas) badge(s watch.State) string {
	if s == "" {
		s = watch.WarmingUp // no event yet
	}
	text := " " + strings.ToUpper(string(s)) + " "
	if !c.Color {
		return "[" + strings.TrimSpace(text) + "]"
	}
	return lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Color("0")).Background(lipgloss.Color(colorOf(s))).Render(text)
}

// colorOf returns one of the terminal's own colors, so that it fits any theme.
func colorOf(s watch.State) string {
	switch s {
	case watch.OutOfMemory, watch.Leaking:
		return "1" // red
	case watch.NearLimit, watch.Thrashing, watch.Starved, watch.OtherProcess:
		return "3" // yellow
	case watch.Good:
		return "2" // green
	}
	return "6" // cyan
}

// Summary returns a view's cards and processes, one line each, for a page or a pipe.
func Summary(v watch.View, s term.Screen) []string {
	c := Canvas{Width: s.Width, Color: false, Unicode: s.Unicode}
	var out []string
	for _, line := range append(c.cards(v), c.processes(v)...) {
		if line != "" {
			out = append(out, lipgloss.NewStyle().MaxWidth(c.Width).Render(line))
		}
	}
	return out
}
