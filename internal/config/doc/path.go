// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Path is the path to a value: the keys from the root down. A list item is named by its index, from 0. In
// shell scripts a path has one step: the variable's name, or the flag with its dashes; if a flag is given
// several times, --name#2 is the second.
type Path []string

// ParsePath reads a path as people write it: data.batch_size, stages[0].lr or stages.0.lr; a key with dots in
// it is quoted: model."layer.0".dim. Text that begins with a dash is a flag, even if it contains dots.
func ParsePath(text string) (Path, error) {
	if strings.HasPrefix(text, "-") {
		return Path{text}, nil
	}
	var p Path
	rest := text
	for {
		step, after, err := cutStep(rest)
		if err != nil {
			return nil, fmt.Errorf("path %q: %w", text, err)
		}
		p = append(p, step)
		if rest = after; rest == "" {
			return p, nil
		}
		if rest[0] == '.' {
			rest = rest[1:]
		} else if rest[0] != '[' {
			return nil, fmt.Errorf("path %q: a dot is missing before %q", text, rest)
		}
	}
}

// cutStep splits a path into its first step and the rest.
func cutStep(text string) (step, rest string, err error) {
	switch {
	case strings.HasPrefix(text, `"`):
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return "", "", fmt.Errorf("a quote in %s is not closed", text)
		}
		step, err = strconv.Unquote(quoted)
		return step, text[len(quoted):], err
	case strings.HasPrefix(text, "["):
		inside, rest, ok := strings.Cut(text[1:], "]")
		if _, err := strconv.ParseUint(inside, 10, 31); !ok || err != nil {
			return "", "", fmt.Errorf("%q is not a list index like [0]", text)
		}
		return inside, rest, nil
	}
	end := strings.IndexAny(text, `.["`)
	if end < 0 {
		end = len(text)
	}
	if end == 0 {
		return "", "", fmt.Errorf("a key is empty")
	}
	return text[:end], text[end:], nil
}

// String returns the path as ParsePath reads it.
func (p Path) String() string {
	if len(p) == 1 && strings.HasPrefix(p[0], "-") {
		return p[0]
	}
	steps := make([]string, len(p))
	for i, s := range p {
		if s == "" || strings.ContainsAny(s, `."[]\`) || strconv.Quote(s) != `"`+s+`"` || i == 0 && s[0] == '-' {
			s = strconv.Quote(s)
		}
		steps[i] = s
	}
	return strings.Join(steps, ".")
}

// Join returns the path with more steps.
func (p Path) Join(steps ...string) Path { return slices.Concat(p, steps) }

// Equal reports whether two paths have the same steps.
func (p Path) Equal(q Path) bool { return slices.Equal(p, q) }
