// SPDX-License-Identifier: Apache-2.0

// Package screen is the full-screen view of snug watch. Draw renders a View as text; Program shows it on a terminal
// and reads keys. No other package imports the terminal library.
package screen

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"

	"snug/internal/watch"
)

// refresh is the shortest time between redraws: faster changes cannot be read.
const refresh = 100 * time.Millisecond

// Program shows a run on a terminal until the user quits.
type Program struct {
	tea    *tea.Program
	newest time.Time
	speed  atomic.Uint64 // speed of a replay, as float64 bits; 0 means live
	output tail
}

// New returns a program that draws on a terminal. A speed above 0 means a replay, and keys can then change the speed.
func New(ctx context.Context, in io.Reader, out io.Writer, environ []string, c Canvas) *Program {
	p := &Program{}
	p.speed.Store(math.Float64bits(c.Speed))
	p.tea = tea.NewProgram(model{canvas: c, program: p}, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithEnvironment(environ), tea.WithFPS(20), tea.WithoutSignalHandler())
	return p
}

// Run shows the view until the user quits.
func (p *Program) Run() error {
	_, err := p.tea.Run()
	if errors.Is(err, tea.ErrProgramKilled) || errors.Is(err, context.Canceled) || errors.Is(err, tea.ErrInterrupted) {
		return nil
	}
	return err
}

// Quit ends the view.
func (p *Program) Quit() { p.tea.Quit() }

// Speed returns the replay speed.
func (p *Program) Speed() float64 { return math.Float64frombits(p.speed.Load()) }

// Event shows the state after an event, if the last redraw is old enough.
func (p *Program) Event(_ watch.Event, w *watch.Watcher, changed bool) error {
	now := time.Now()
	if !changed && now.Sub(p.newest) < refresh {
		return nil
	}
	p.newest = now
	p.tea.Send(w.View())
	return nil
}

// Close shows the last state.
func (p *Program) Close(w *watch.Watcher) error {
	p.tea.Send(w.View())
	return nil
}

// Output returns a writer for the run's output, whose last lines are shown.
func (p *Program) Output() io.Writer { return &p.output }

// model is the state of the view.
type model struct {
	canvas  Canvas
	view    watch.View
	program *Program
}

// redraw is the message to draw again: the run's output causes no event.
type redraw struct{}

// Init starts periodic redrawing. The terminal reports its size unasked.
func (m model) Init() tea.Cmd { return soon() }

func soon() tea.Cmd {
	return tea.Tick(5*refresh, func(time.Time) tea.Msg { return redraw{} })
}

// Update handles a size, a key, or a new state.
func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.canvas.Width, m.canvas.Height = msg.Width, msg.Height
	case watch.View:
		if !m.canvas.Paused {
			m.view = msg
		}
	case redraw:
		return m, soon()
	case tea.KeyPressMsg:
		return m.key(msg.String())
	}
	return m, nil
}

// key handles a key press.
func (m model) key(key string) (tea.Model, tea.Cmd) {
	switch key {
	case "q", "ctrl+c", "esc":
		return m, tea.Quit
	case "space", "p":
		m.canvas.Paused = !m.canvas.Paused
	case "tab", "right":
		m.canvas.Card++
	case "left":
		m.canvas.Card += max(0, len(m.view.Cards)-1)
	case "+", "=":
		m.setSpeed(2)
	case "-":
		m.setSpeed(0.5)
	}
	m.canvas.Speed = m.program.Speed()
	return m, nil
}

// setSpeed changes the replay speed, within limits.
func (m model) setSpeed(by float64) {
	if speed := m.program.Speed(); speed > 0 {
		m.program.speed.Store(math.Float64bits(min(1024, max(0.125, speed*by))))
	}
}

// View draws the picture.
func (m model) View() tea.View {
	c := m.canvas
	c.Output = m.program.output.lines()
	v := tea.NewView(Draw(m.view, c))
	v.AltScreen = true
	return v
}

// tail keeps the last lines that were written.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// mostTail is the maximum number of bytes of output to keep.
const mostTail = 1 << 14

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if n := len(t.text) - mostTail; n > 0 {
		t.text = append(t.text[:0], t.text[n:]...)
	}
	return len(p), nil
}

// lines returns the lines as a terminal would show them: a carriage return starts the line over.
func (t *tail) lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []string
	for line := range strings.Lines(string(t.text)) {
		line = strings.TrimRight(line, "\r\n")
		line = line[strings.LastIndexByte(line, '\r')+1:]
		out = append(out, strings.Map(printable, line))
	}
	return slices.DeleteFunc(out, func(s string) bool { return strings.TrimSpace(s) == "" })
}

// printable removes characters that could move the cursor or change colors.
func printable(r rune) rune {
	switch {
	case r == '\t':
		return ' '
	case r < 32 || r == 127 || r >= 0x80 && r < 0xa0:
		return -1
	}
	return r
}
