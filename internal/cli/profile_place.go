// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"snug/internal/config"
	"snug/internal/files"
	"snug/internal/pattern"
	"snug/internal/profile"
)

// A size goes into a command in one of three ways, the surest first: where the
// command says {batch}; as an option of the script that it runs, or an override
// where that is Hydra's; or into a copy of a file that it names.

// placed is the command with a size in it.
type placed struct {
	words []string
	shown []string // the words with the user's own names of copied files
	env   []string
	where []string // what was put where, in words
}

// place puts a size into the command.
func (p *profiling) place(at profile.Point, folder string) (*placed, error) {
	out := &placed{words: slices.Clone(p.launch.Args), env: slices.Clone(p.launch.Env)}
	bound := map[string]any{}
	for _, name := range at.Names() {
		if !out.fill(name, at[name]) {
			bound[name] = int(at[name])
		}
	}
	out.shown = slices.Clone(out.words)
	for i, w := range out.words[:min(p.launch.Program, len(out.words))] { // env PYTHONPATH=src python train.py
		if path, ok := strings.CutPrefix(w, "PYTHONPATH="); ok {
			out.words[i] = "PYTHONPATH=" + folder + string(os.PathListSeparator) + path
		}
	}
	if len(bound) == 0 {
		return out, nil
	}
	return out, p.bind(out, bound, folder)
}

// fill writes a value where the command asks for it. What a shell would call
// ${batch} is its own.
func (c *placed) fill(name string, n int64) (found bool) {
	hole := "{" + name + "}"
	for _, list := range [][]string{c.words, c.env} {
		for i, w := range list {
			own := strings.ReplaceAll(w, "$"+hole, "\x00") // which no word of a command can hold
			found = found || strings.Contains(own, hole)
			own = strings.ReplaceAll(own, hole, strconv.FormatInt(n, 10))
			list[i] = strings.ReplaceAll(own, "\x00", "$"+hole)
		}
	}
	return found
}

// unsaid refuses a size that the command itself gives already: whatever a file
// says, the command's own word would hold.
func (c *placed) unsaid(name string) error {
	for _, b := range config.Spoken(c.words) {
		if b.Setting == name {
			return said(name, b.Path[len(b.Path)-1], b.Text)
		}
	}
	return nil
}

func said(name, flag, value string) error {
	glue := "="
	if strings.HasPrefix(flag, "-") {
		glue = " "
	}
	return fmt.Errorf("the command says %s%s%s, which would hold at every size; write {%s} there: %s%s{%s}", flag, glue, value, name, flag, glue, name)
}

// addOption gives the script an option: behind its other words, but before a --
// of its own.
func (c *placed) addOption(script, name, option string, value any) error {
	names := aliases(script, option)
	for i, w := range c.words {
		if flag, given, glued := strings.Cut(w, "="); slices.Contains(names, flag) {
			if !glued && i+1 < len(c.words) {
				given = c.words[i+1]
			}
			return said(name, flag, given)
		}
	}
	add := func(words []string) []string {
		at := len(words)
		begin := slices.IndexFunc(words, func(w string) bool { return local(w) == script })
		if i := slices.Index(words[begin+1:], "--"); begin >= 0 && i >= 0 {
			at = begin + 1 + i
		}
		return slices.Insert(words, at, option, fmt.Sprint(value))
	}
	c.words, c.shown = add(c.words), add(c.shown)
	c.where = append(c.where, fmt.Sprintf("%s: %s of %s", name, option, script))
	return nil
}

// addOverride gives Hydra a value over that of a file.
func (c *placed) addOverride(name, override, file string) {
	c.words, c.shown = append(c.words, override), append(c.shown, override)
	key, _, _ := strings.Cut(override, "=")
	c.where = append(c.where, fmt.Sprintf("%s: %s of %s, overridden in the command", name, strings.TrimLeft(key, "+"), file))
}

// arguments are the names that a script gives an option of argparse.
var arguments = pattern.New(`add_argument\(\s*((?:["'][^"'\n]+["']\s*,\s*)+)`)

// aliases are all names of an option, as in add_argument("-b", "--batch-size").
func aliases(script, option string) []string {
	text, err := files.Read(script, mostScript)
	if err != nil {
		return []string{option}
	}
	for _, m := range arguments.Regexp().FindAllSubmatch(text, -1) {
		names := strings.FieldsFunc(string(m[1]), func(r rune) bool { return strings.ContainsRune("\"', \t\r\n", r) })
		if slices.Contains(names, option) {
			return names
		}
	}
	return []string{option}
}

// useCopy has the command read a copy of a file.
func (c *placed) useCopy(file, copied string) (found bool) {
	for i, w := range c.words {
		if namesFile(w, file) {
			c.words[i], found = w[:strings.LastIndex(w, "=")+1]+copied, true
		}
	}
	return found
}

// names says whether the command names a file.
func (c *placed) names(file string) bool {
	return slices.ContainsFunc(c.words, func(w string) bool { return namesFile(w, file) })
}

// namesFile is for train.yaml and --config=train.yaml.
func namesFile(word, file string) bool {
	return local(word[strings.LastIndex(word, "=")+1:]) == filepath.ToSlash(filepath.Clean(file))
}
