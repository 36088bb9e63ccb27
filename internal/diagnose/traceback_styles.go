// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"strings"

	"snug/internal/pattern"
)

// Tracebacks come in four styles: Python's own, Rich's boxes (accelerate, Lightning, Typer), and IPython's before and
// since version 8. All but Python's list source lines around each frame, and mark the frame's line with an arrow.

// style is a way of printing a frame's line.
type style struct {
	pattern *pattern.Pattern
	lists   bool // whether numbered source lines follow
	read    func(groups []string) Frame
}

var styles = []style{
	{pattern.New(`^(.*?)\s*File "([^"]+)", line (\d+)(?:, in (.*))?$`, `File "`), false,
		func(g []string) Frame { return Frame{File: g[2], Line: atoi(g[3]), Func: strings.TrimSpace(g[4])} }},
	{pattern.New(`^()[│|]\s*(\S+\.py):(\d+) in\s+(\S*?)\s*[│|]?\s*$`, ".py:"), true,
		func(g []string) Frame { return Frame{File: g[2], Line: atoi(g[3]), Func: g[4]} }},
	{pattern.New(`^(.*?)\s*File (\S+?\.py):(\d+), in ([\w<>.]+)`, "File "), true,
		func(g []string) Frame { return Frame{File: g[2], Line: atoi(g[3]), Func: g[4]} }},
	{pattern.New(`^(.*?)\s*(?:Cell|Input) In ?\[(\d+)\],? (?:line (\d+)|in )`, "In[", "In ["), true,
		func(g []string) Frame {
			return Frame{File: "In[" + g[2] + "]", Line: atoiOr(g[3], 0), Func: "<module>"}
		}},
	{pattern.New(`^()(\S+\.py|<ipython-input-[\w-]+>) in ([\w<>.]+)(?:\(.*)?$`, ".py in ", "<ipython-input-"), true,
		func(g []string) Frame { return Frame{File: g[2], Func: g[3]} }},
}

// listed matches a numbered source line below a frame, perhaps with an arrow.
var listed = pattern.New(`^[│|\s]*(❱|-+>)?\s*(\d+)[ │|](.*?)[│|]?\s*$`)

// frameIn parses the line of a frame.
func frameIn(text string) (f Frame, prefix string, lists, ok bool) {
	for _, s := range styles {
		if g := s.pattern.Find(text); g != nil {
			return s.read(g), strings.TrimSpace(g[1]), s.lists, true
		}
	}
	return Frame{}, "", false, false
}

// atoiOr parses a number that may be missing.
func atoiOr(s string, otherwise int) int {
	if s == "" {
		return otherwise
	}
	return atoi(s)
}

// heads returns the prefix of the line that begins a traceback. Rich draws a box around it, and notebooks write the
// exception's name before it.
func heads(text string) (prefix string, ok bool) {
	at := strings.Index(text, "Traceback (most recent call last)")
	if at < 0 {
		return "", false
	}
	prefix = strings.Trim(text[:at], " ╭─┌-")
	if strings.HasSuffix(prefix, "Error") || strings.HasSuffix(prefix, "Exception") {
		prefix = ""
	}
	return prefix, true
}

// isFrame reports whether a line belongs to a frame.
func isFrame(text string) bool {
	_, _, _, ok := frameIn(text)
	return ok
}

// list processes a numbered source line. The one with the arrow is the frame's.
func (f *Frame) list(text string) bool {
	g := listed.Find(text)
	if g == nil {
		return false
	}
	if g[1] != "" {
		f.Code = strings.Trim(g[3], " │|")
		if f.Line == 0 {
			f.Line = atoi(g[2])
		}
	}
	return true
}
