// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"bufio"
	"errors"
	"io"
	"snug/internal/pattern"
	"strings"
)

// Log is what a run's output shows about how it ran out of memory.
type Log struct {
	Messages []Found    // in order
	Steps    []StepLine // lines that report a finished step
	Lines    int        // number of lines in the log
	Resumed  int        // line that reports loading a checkpoint; 0 if there is none
	Binary   bool       // whether the output begins with bytes that cannot be text
}

// Found is a message with the traceback before it.
type Found struct {
	Message
	Frames []Frame // the traceback
	Text   string  // the line, without its prefix
}

// Limits that bound the memory for reading a log, whatever it contains.
const (
	longestLine  = 64 << 10 // only the start of a longer line is read
	mostFrames   = 400      // per traceback
	mostMessages = 1000
	mostSteps    = 200_000
	mostPrefixes = 4096
	joined       = 24 // most lines of a multi-line message
)

var (
	ansi = pattern.New(`\x1b\[[0-9;?]*[A-Za-z]`)
	// stamps are times as loggers, Slurm and Kubernetes print them. They are removed from each line, because they
	// differ between the lines of one traceback.
	stamps  = pattern.New(`\d{4}[-/]\d{2}[-/]\d{2}[T _]\d{2}:\d{2}:\d{2}(?:[.,]\d+)?(?:Z|[+-]\d{2}:?\d{2})?|\b(?:\d{2}[-/]\d{2}(?:[-/]\d{2,4})? |[IWEF]\d{4} )\d{2}:\d{2}:\d{2}(?:[.,]\d+)?|^\W*\d{2}:\d{2}:\d{2}(?:[.,]\d+)?`)
	resumes = pattern.New(`(?i)\bresum(?:ing|ed)\b|\bcontinuing training from|load(?:ing|ed) (?:the )?(?:checkpoint\b[^s]*$|checkpoint (?:from|at|'|"|/)|optimizer)|restor(?:ing|ed) (?:all )?(?:states|optimizer|checkpoint|from)`, "esum", "ESUM", "ontinuing", "oad", "LOAD", "estor", "ESTOR")
)

// reader reads a log line by line.
type reader struct {
	log   Log
	open  map[string][]Frame // frames of unfinished tracebacks, by prefix
	await string             // the prefix whose last frame still needs its source line
	lists bool               // whether that frame's source lines are numbered
	whole [2]string          // the lines of the last message so far, joined with spaces and without, while more may follow
	more  int                // the number of lines that may still belong to the last message
}

// ReadLog reads a run's output to the end, however long.
func ReadLog(r io.Reader) (*Log, error) {
	in := bufio.NewReaderSize(inUTF8(bufio.NewReader(r)), longestLine)
	g := &reader{open: map[string][]Frame{}}
	for {
		line, err := in.ReadSlice('\n')
		text := string(line)
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a very long line
			_, err = in.ReadSlice('\n')
		}
		if g.log.Lines == 0 && strings.ContainsRune(text[:min(len(text), 512)], 0) {
			g.log.Binary = true
		}
		if len(text) > 0 {
			g.line(text)
		}
		if err == io.EOF {
			return &g.log, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// line processes one line. Progress bars rewrite their line with carriage returns; each part counts as a line.
func (g *reader) line(text string) {
	g.log.Lines++
	text = strings.TrimRight(text, "\r\n")
	if strings.Contains(text, "\x1b") {
		text = ansi.Regexp().ReplaceAllString(text, "")
	}
	if hasTime(text) {
		text = stamps.Regexp().ReplaceAllString(text, "")
	}
	for part := range strings.SplitSeq(text, "\r") {
		if strings.TrimSpace(part) != "" {
			g.part(strings.ToValidUTF8(part, "?"))
		}
	}
}

// hasTime reports whether a line has a time like 09:41:07. Most lines have none, and searching for all forms is slow.
func hasTime(text string) bool {
	for i := 2; i+5 < len(text); i++ {
		if text[i] == ':' && text[i+3] == ':' && digit(text[i-1]) && digit(text[i+1]) && digit(text[i+4]) {
			return true
		}
	}
	return false
}

func digit(b byte) bool { return b >= '0' && b <= '9' }

func (g *reader) part(text string) {
	switch {
	case g.continued(text):
	case g.frame(text):
	case g.code(text):
	default:
		g.other(text)
	}
}

// continued processes a line that completes the last message: the message has several lines, or was wrapped when it
// was copied, at spaces or anywhere.
func (g *reader) continued(text string) bool {
	if g.more == 0 {
		return false
	}
	last := &g.log.Messages[len(g.log.Messages)-1]
	rest, ours := strings.CutPrefix(strings.TrimSpace(text), last.Prefix)
	if last.Prefix == "" {
		rest = rest[len(shared(last.Text, rest)):]
	}
	if _, starts := messageIn(rest); starts || strings.Contains(text, "Traceback (most recent") || isFrame(text) {
		g.more = 0
		return false
	}
	if !ours {
		return false
	}
	g.more--
	completed := false
	for i, gap := range []string{" ", ""} {
		g.whole[i] += gap + strings.TrimSpace(rest)
		m, ok := messageIn(g.whole[i])
		if !ok || m.figures() <= last.figures() {
			continue
		}
		m.Line, m.Prefix = last.Line, last.Prefix
		last.Message, last.Text, completed = m, g.whole[i], true
	}
	if last.whole() {
		g.more = 0
	}
	return completed
}

// shared returns the prefix that a launcher added to two lines, such as "[rank1]: ".
func shared(a, b string) string {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	at := strings.LastIndexAny(a[:n], " \t")
	if at < 1 || !strings.ContainsAny(a[at-1:at], "]:|>)") {
		return ""
	}
	return a[:at+1]
}

// frame processes the line of a frame.
func (g *reader) frame(text string) bool {
	f, prefix, lists, ok := frameIn(text)
	if !ok {
		return false
	}
	if len(g.open) < mostPrefixes && len(g.open[prefix]) < mostFrames {
		g.open[prefix] = append(g.open[prefix], f)
	}
	g.await, g.lists = prefix, lists
	return true
}

// code processes the source line below a frame, or the markers below that.
func (g *reader) code(text string) bool {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), g.await)
	frames := g.open[g.await]
	if !ok || len(frames) == 0 {
		return false
	}
	rest = strings.TrimSpace(rest)
	if strings.Trim(rest, "^~│| ") == "" {
		return true
	}
	last := &frames[len(frames)-1]
	if g.lists {
		return last.list(text)
	}
	if last.Code != "" || !indented(text, g.await) {
		return false
	}
	last.Code = rest
	return true
}

// indented reports whether a line is indented as source lines in tracebacks are.
func indented(text, prefix string) bool {
	at := strings.Index(text, prefix)
	return at >= 0 && strings.HasPrefix(text[at+len(prefix):], "    ") || strings.HasPrefix(text, "    ")
}

// other processes a line outside any traceback.
func (g *reader) other(text string) {
	if prefix, ok := heads(text); ok {
		delete(g.open, prefix)
		return
	}
	if m, ok := g.message(text); ok {
		if len(g.log.Messages) < mostMessages {
			g.log.Messages = append(g.log.Messages, m)
			g.whole, g.more = [2]string{m.Text, m.Text}, joined
			if m.whole() {
				g.more = 0
			}
		}
		return
	}
	if resumes.In(text) && g.log.Resumed == 0 {
		g.log.Resumed = g.log.Lines
	}
	if s, ok := stepLine(text); ok && len(g.log.Steps) < mostSteps {
		s.line = g.log.Lines
		g.log.Steps = append(g.log.Steps, s)
	}
}

// message looks for a message in a line, or in several lines that end with it.
func (g *reader) message(text string) (Found, bool) {
	m, ok := messageIn(text)
	if !ok {
		return Found{}, false
	}
	m.Line = g.log.Lines
	f := Found{Message: m, Text: text}
	f.Prefix, f.Frames = g.traceback(text)
	return f, true
}

// traceback returns the open traceback that a message ends: the one with the longest matching prefix.
func (g *reader) traceback(text string) (prefix string, frames []Frame) {
	found := false
	for p := range g.open {
		if strings.HasPrefix(strings.TrimSpace(text), p) && (!found || len(p) > len(prefix)) {
			prefix, found = p, true
		}
	}
	frames = g.open[prefix]
	delete(g.open, prefix)
	return prefix, frames
}
