// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"snug/internal/allocator"
	"snug/internal/config/doc"
	"snug/internal/spelling"
)

// Settings describe which rules apply to which files: [tool.snug.lint] in pyproject.toml, and the flags.
type Settings struct {
	Select  []string            // codes or prefixes of codes (SNG1, ALL); empty means all except optional rules
	Ignore  []string            // codes or prefixes of codes
	Exclude []string            // files and folders, with * and **
	PerFile map[string][]string // codes to ignore, by file pattern
	Torch   string              // PyTorch release
}

// settingKeys are the keys of [tool.snug.lint].
func settingKeys() []string {
	return []string{"select", "ignore", "exclude", "per-file-ignores", "torch"}
}

// ReadSettings reads [tool.snug.lint] from a pyproject.toml; a file without that table changes nothing.
func ReadSettings(name string, data []byte) (Settings, error) {
	var s Settings
	d, err := doc.OpenAs(name, doc.TOML, data)
	if err != nil {
		return s, err
	}
	at := doc.Path{"tool", "snug", "lint"}
	table, err := d.Find(at)
	if err != nil {
		return s, nil
	}
	s.PerFile = map[string][]string{}
	for _, key := range table.Keys {
		v, err := d.Find(at.Join(key))
		if err != nil {
			return s, err
		}
		if err := s.read(d, key, v); err != nil {
			return s, fmt.Errorf("%s:%d:%d: %w", name, v.Line, v.Column, err)
		}
	}
	return s, s.Check()
}

// read reads one key.
func (s *Settings) read(d *doc.Document, key string, v doc.Value) (err error) {
	switch key {
	case "select":
		s.Select, err = texts(d, v)
	case "ignore":
		s.Ignore, err = texts(d, v)
	case "exclude":
		s.Exclude, err = texts(d, v)
	case "torch":
		release, ok := v.Data.(string)
		if !ok {
			return fmt.Errorf("torch must be a release in quotes, such as \"2.6\"")
		}
		s.Torch = release
		_, err = allocator.ParseVersion(release)
	case "per-file-ignores":
		for _, pattern := range v.Keys {
			list, err := d.Find(v.Path.Join(pattern))
			if err != nil {
				return err
			}
			if s.PerFile[pattern], err = texts(d, list); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("[tool.snug.lint] has no key %q%s", key, spelling.Hint(key, settingKeys(), "it has "+strings.Join(settingKeys(), ", ")))
	}
	return err
}

// texts returns a list of strings.
func texts(d *doc.Document, v doc.Value) ([]string, error) {
	if v.Kind != doc.List {
		return nil, fmt.Errorf("%s must be a list of strings, such as [\"SNG101\"]", v.Path[len(v.Path)-1])
	}
	out := []string{}
	for i := range v.Len {
		item, err := d.Find(v.Path.Join(strconv.Itoa(i)))
		if err != nil {
			return nil, err
		}
		text, ok := item.Data.(string)
		if !ok {
			return nil, fmt.Errorf("%s must be a list of strings, such as [\"SNG101\"]", v.Path[len(v.Path)-1])
		}
		out = append(out, text)
	}
	return out, nil
}

// Check returns an error if a selector matches no rule.
func (s Settings) Check() error {
	lists := [][]string{s.Select, s.Ignore}
	for _, list := range s.PerFile {
		lists = append(lists, list)
	}
	for _, selector := range slices.Concat(lists...) {
		if !slices.ContainsFunc(Codes(), func(code string) bool { return matches(selector, code) }) {
			return fmt.Errorf("there is no rule %q; snug lint --explain all lists them", selector)
		}
	}
	return nil
}

// Rules returns the rules that apply to a file.
func (s Settings) Rules(file string) []Rule {
	var ignored []string
	for pattern, codes := range s.PerFile {
		if inPattern(pattern, file) {
			ignored = append(ignored, codes...)
		}
	}
	return slices.DeleteFunc(Rules(), func(r Rule) bool {
		covers := func(selector string) bool { return matches(selector, r.Code) }
		if len(s.Select) == 0 && r.Optional || len(s.Select) > 0 && !slices.ContainsFunc(s.Select, covers) {
			return true
		}
		return slices.ContainsFunc(s.Ignore, covers) || slices.ContainsFunc(ignored, covers)
	})
}

// Excludes reports whether a file or folder should not be checked.
func (s Settings) Excludes(file string) bool {
	return slices.ContainsFunc(s.Exclude, func(p string) bool { return inPattern(p, file) })
}

// inPattern reports whether a pattern matches a file: its path, its name, or a folder it is in.
func inPattern(pattern, file string) bool {
	pattern, file = strings.TrimSuffix(pattern, "/"), path.Clean(filepath.ToSlash(file))
	want := strings.Split(pattern, "/")
	parts := strings.Split(file, "/")
	if len(want) == 1 {
		return slices.ContainsFunc(parts, func(part string) bool { return segment(pattern, part) })
	}
	for n := len(parts); n > 0; n-- {
		if segments(want, parts[:n]) {
			return true
		}
	}
	return false
}

// segments matches the parts of a path; ** matches any number of them. It uses a table instead of backtracking, so
// its time is bounded.
func segments(want, parts []string) bool {
	reach := make([]bool, len(parts)+1) // which prefixes of the path are matched so far
	reach[0] = true
	for _, w := range want {
		next := make([]bool, len(parts)+1)
		for i, ok := range reach {
			switch {
			case w == "**" && (ok || i > 0 && next[i-1]):
				next[i] = true
			case ok && i < len(parts) && segment(w, parts[i]):
				next[i+1] = true
			}
		}
		reach = next
	}
	return reach[len(parts)]
}

func segment(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}
