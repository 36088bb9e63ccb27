// SPDX-License-Identifier: Apache-2.0

// Package term draws bars, charts of memory over time, and tables on a terminal, pipe or file. A Screen decides once
// what the output can show, and everything drawn respects that.
package term

import (
	"io"
	"os"
	"strings"

	xterm "golang.org/x/term"
)

// Screen describes what the output can show.
type Screen struct {
	Width   int  // columns
	Height  int  // rows of a terminal; 0 for pipes and files
	Color   bool // whether to use escape sequences
	Unicode bool // block characters can be shown

	mark rune // Paint writes it instead of ESC, and Output replaces it with ESC
}

const (
	defaultWidth  = 80
	defaultHeight = 24
	minWidth      = 40
	maxWidth      = 120 // longer lines are hard to read
)

// Detect returns the Screen of an output. Pipes and files get 80 columns and no color; NO_COLOR and
// TERM=dumb switch color off; a locale that is not UTF-8 gets plain ASCII.
func Detect(out io.Writer, getenv func(string) string) Screen {
	s := Screen{Width: defaultWidth, Unicode: utf8Locale(getenv)}
	f, ok := out.(*os.File)
	if !ok || !xterm.IsTerminal(int(f.Fd())) {
		return s
	}
	s.Height = defaultHeight
	if w, h, err := xterm.GetSize(int(f.Fd())); err == nil && w > 0 && h > 0 {
		s.Width, s.Height = min(max(w, minWidth), maxWidth), h
	}
	s.Color = getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
	return s
}

// utf8Locale reports whether the locale is UTF-8. As in setlocale, the first variable that is set is used.
func utf8Locale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(getenv(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}

// Style is a way to highlight text.
type Style string

// The styles in use.
const (
	Bold  Style = "1"  // bold
	Dim   Style = "2"  // faint
	Red   Style = "31" // red
	Green Style = "32" // green
)

// Paint returns the text in a style if color is enabled, and unchanged otherwise.
func (s Screen) Paint(style Style, text string) string {
	if !s.Color || text == "" {
		return text
	}
	escape := "\x1b"
	if s.mark != 0 {
		escape = string(s.mark)
	}
	return escape + "[" + string(style) + "m" + text + escape + "[0m"
}

// pick returns the first text if block characters can be shown, otherwise the second.
func (s Screen) pick(unicode, ascii string) string {
	if s.Unicode {
		return unicode
	}
	return ascii
}

// Dash returns a dash between parts of a sentence.
func (s Screen) Dash() string { return s.pick("–", "-") }

// Solid returns the fill character of bars and charts.
func (s Screen) Solid() string { return s.pick("█", "#") }

// Shade returns the lighter fill character.
func (s Screen) Shade() string { return s.pick("░", ".") }

// Tick returns the mark for the start of something.
func (s Screen) Tick() string { return s.pick("╵", "|") }

// Peak returns the mark that points up to a peak.
func (s Screen) Peak() string { return s.pick("▲", "^") }

// Times returns the multiplication sign.
func (s Screen) Times() string { return s.pick("×", "x") }

// Interactive reports whether the input is a terminal, not a pipe or a file.
func Interactive(in io.Reader) bool {
	f, ok := in.(*os.File)
	return ok && xterm.IsTerminal(int(f.Fd()))
}
