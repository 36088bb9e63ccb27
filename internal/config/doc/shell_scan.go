// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"bytes"
	"strings"
)

// shWord is one word of a command, quotes and substitutions included.
type shWord struct {
	start, end int
	command    int // words of one command have the same number
}

// shScanner cuts a script into the words of its commands. It handles quotes, substitutions, comments,
// line continuations and here-documents; it does not interpret the words.
type shScanner struct {
	src     []byte
	at, end int
	words   []shWord
	command int
	arrays  int      // how many are open
	heredoc []string // delimiters of the here-documents that follow this line
}

func scanShell(src []byte) ([]shWord, error) {
	s := shScanner{src: src, at: contentStart(src), end: len(src)}
	for s.at < s.end {
		if err := s.next(); err != nil {
			return nil, err
		}
	}
	return s.words, nil
}

func (s *shScanner) next() error {
	c := s.src[s.at]
	switch {
	case c == ' ' || c == '\t' || c == '\r':
		s.at++
	case c == '\\' && s.continues(s.at):
		s.at = s.afterBreak(s.at + 1)
	case c == '#':
		s.at = lineEnd(s.src, s.at)
	case c == '\n':
		s.at++
		s.command++
		s.skipHeredocs()
	case bytes.HasPrefix(s.src[s.at:], []byte("<<<")):
		s.at += 3
	case bytes.HasPrefix(s.src[s.at:], []byte("<<")):
		s.here()
	case c == '<' || c == '>':
		s.at++
	case strings.IndexByte(";|&()", c) >= 0:
		s.at++
		s.command++
	default:
		return s.word()
	}
	return nil
}

// continues reports whether a backslash is the last character of its line.
func (s *shScanner) continues(at int) bool {
	return at+1 < s.end && (s.src[at+1] == '\n' || s.src[at+1] == '\r' && at+2 < s.end && s.src[at+2] == '\n')
}

func (s *shScanner) afterBreak(at int) int {
	if s.src[at] == '\r' {
		at++
	}
	return at + 1
}

// word takes a word to its end.
func (s *shScanner) word() error {
	begin := s.at
	for s.at < s.end {
		c := s.src[s.at]
		if strings.IndexByte(" \t\r\n;|&()<>", c) >= 0 || c == '\\' && s.continues(s.at) {
			break
		}
		end, err := s.piece(s.at, 0)
		if err != nil {
			return err
		}
		s.at = end
	}
	s.words = append(s.words, shWord{begin, s.at, s.command})
	return s.array(begin)
}

// array goes into NAME=( … ): its words are arguments of a command to come.
func (s *shScanner) array(begin int) error {
	if s.at >= s.end || s.src[s.at] != '(' || s.src[s.at-1] != '=' {
		return nil
	}
	if s.arrays++; s.arrays > maxDepth {
		return failAt(s.at, "arrays are nested more than %d deep here, and are not read any deeper", maxDepth)
	}
	defer func() { s.arrays-- }()
	s.words = s.words[:len(s.words)-1]
	s.command++
	s.words = append(s.words, shWord{begin, begin, s.command}) // stands for the command's name
	for s.at++; s.at < s.end && s.src[s.at] != ')'; {
		if c := s.src[s.at]; c == '\n' || c == ';' || c == '(' {
			s.at++
			continue
		}
		command := s.command
		if err := s.next(); err != nil {
			return err
		}
		s.command = command
	}
	return nil
}

// piece returns the end of the piece of a word at an offset: a character, a quoted
// text, a substitution.
func (s *shScanner) piece(at, depth int) (int, error) {
	if depth > maxDepth {
		return 0, failAt(at, "substitutions are nested more than %d deep here, and are not read any deeper", maxDepth)
	}
	switch c := s.src[at]; {
	case c == '\\':
		return min(at+2, s.end), nil
	case c == '\'':
		if i := bytes.IndexByte(s.src[at+1:s.end], '\''); i >= 0 {
			return at + i + 2, nil
		}
		return 0, failAt(at, "the quote is not closed")
	case c == '"':
		return s.until(at, '"', depth)
	case c == '`':
		return s.until(at, '`', depth)
	case c == '$' && at+1 < s.end && s.src[at+1] == '(':
		return s.until(at+1, ')', depth)
	case c == '$' && at+1 < s.end && s.src[at+1] == '{':
		return s.until(at+1, '}', depth)
	}
	return at + 1, nil
}

// until returns the offset after the closing character of a bracket or quote.
func (s *shScanner) until(open int, closing byte, depth int) (int, error) {
	parentheses := 0
	for at := open + 1; at < s.end; {
		c := s.src[at]
		switch {
		case c == closing && parentheses == 0:
			return at + 1, nil
		case closing == ')' && c == '(':
			parentheses++
		case closing == ')' && c == ')':
			parentheses--
		case closing == '"' && c == '\'':
			at++ // an apostrophe within double quotes
			continue
		}
		end, err := s.piece(at, depth+1)
		if err != nil {
			return 0, err
		}
		at = end
	}
	return 0, failAt(open, "%c is not closed", s.src[open])
}

// here takes the delimiter of a here-document.
func (s *shScanner) here() {
	s.at += 2
	if s.at < s.end && s.src[s.at] == '-' {
		s.at++
	}
	for s.at < s.end && (s.src[s.at] == ' ' || s.src[s.at] == '\t') {
		s.at++
	}
	begin := s.at
	for s.at < s.end && strings.IndexByte(" \t\r\n;|&()<>", s.src[s.at]) < 0 {
		s.at++
	}
	if delimiter := strings.Trim(string(s.src[begin:s.at]), `'"\`); delimiter != "" {
		s.heredoc = append(s.heredoc, delimiter)
	}
}

// skipHeredocs goes past the texts of the here-documents of the last line.
func (s *shScanner) skipHeredocs() {
	for _, delimiter := range s.heredoc {
		for s.at < s.end {
			end := lineEnd(s.src, s.at)
			line := strings.TrimLeft(string(s.src[s.at:end]), "\t")
			s.at = min(end+1, s.end)
			if end < s.end && s.src[end] == '\r' {
				s.at = min(end+2, s.end)
			}
			if line == delimiter {
				break
			}
		}
	}
	s.heredoc = nil
}
