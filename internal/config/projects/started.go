// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"path"
	"slices"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/systems"
	"snug/internal/config/tree"
)

// A shell script names the run's configuration with a flag (--config a.yaml) or by position: axolotl train
// a.yml, torchrun run_clm.py args.yaml, torchrun train.py. A flag is more reliable and takes precedence.

// started returns the config that the only script in the folder names; nil if there is none, or if
// several are started.
func started(found, mains []*Source) *Source {
	var byPlace []*Source
	for _, s := range found {
		if s.System.Commands == nil {
			continue
		}
		if linked := s.linked(mains); len(linked) > 0 {
			return linked[0]
		}
		byPlace = append(byPlace, s.startedBy(mains)...)
	}
	if len(byPlace) == 0 || slices.ContainsFunc(byPlace, func(m *Source) bool { return m != byPlace[0] }) {
		return nil
	}
	return byPlace[0]
}

// linked returns the sources that the flags of a script name, each once.
func (s *Source) linked(of []*Source) []*Source {
	var out []*Source
	for _, link := range links(s) {
		for _, m := range of {
			there := slices.Contains(placesOf(s.File, link), m.File)
			if there && m != s && !slices.Contains(out, m) {
				out = append(out, m)
			}
		}
	}
	return out
}

// startedBy returns the sources that the commands of a script start, one per command; for a program
// followed by a file, the file.
func (s *Source) startedBy(of []*Source) []*Source {
	var out []*Source
	startable := map[string]*Source{}
	ownBatch := holds(s, "batch")
	for _, m := range of {
		if m != s && startable[m.File] == nil && m.startable(ownBatch) {
			startable[m.File] = m
		}
	}
	if len(startable) == 0 {
		return nil
	}
	for _, c := range s.Tree.Layers[0].Doc.Commands() {
		if doesNotTrain(c) {
			continue
		}
		for _, word := range slices.Backward(placed(c.Words)) {
			at := slices.IndexFunc(placesOf(s.File, word), func(at string) bool { return startable[at] != nil })
			if at >= 0 {
				out = append(out, startable[placesOf(s.File, word)[at]])
				break
			}
		}
	}
	return out
}

// startable reports whether a source that a script names contains a run's settings. A Python program does if
// it creates a trainer's arguments itself and takes none of them from flags. byFlags means that the script sets
// the batch.
func (s *Source) startable(byFlags bool) bool {
	if s.Tree.Layers[0].Doc.Format() != doc.Python {
		return s.System.Commands == nil
	}
	return s.System.Startable && !byFlags
}

// placed returns the positional words of a command that are files. The word after a flag is probably its
// value; programs are not included.
func placed(words []string) []string {
	var out []string
	for i, w := range words {
		format, known := doc.FormatOf(w, nil)
		value := i > 0 && strings.HasPrefix(words[i-1], "-") && !strings.Contains(words[i-1], "=")
		if i > 0 && known && !strings.HasPrefix(w, "-") && (format == doc.Python || !value) {
			out = append(out, w)
		}
	}
	return out
}

// startsMain reports whether a script names the main source, with a flag or by position.
func (s *Source) startsMain(main *Source) bool {
	return s.System.Commands != nil && (len(s.linked([]*Source{main})) > 0 || len(s.startedBy([]*Source{main})) > 0)
}

// startedConfigs returns the configurations named by the scripts that the user named.
func (p *Found) startedConfigs(named []*Source) []*Source {
	var out []*Source
	for _, s := range named {
		if s.System.Commands == nil {
			continue
		}
		for _, name := range s.namedFiles() {
			for _, at := range placesOf(s.File, name) {
				read := slices.ContainsFunc(append(out, named...), func(o *Source) bool { return o.File == at })
				if c, _, err := readSource(p.files, at, false); err == nil && c != nil && !read && c.Tree.Layers[0].Doc.Format() != doc.Python && !c.System.Tied {
					out = append(out, c)
					break
				}
			}
		}
	}
	return out
}

// startingScript returns a script that contains no settings itself and names a configuration; nil for anything
// else.
func (p *Found) startingScript(name string) *Source {
	data, err := p.files.ReadFile(name)
	if format, _ := doc.FormatOf(name, data); err != nil || format != doc.Shell {
		return nil
	}
	d, err := doc.Open(name, data)
	if err != nil {
		return nil
	}
	s := NewSource(name, systems.Shell(), tree.New(tree.Layer{File: name, Doc: d}))
	if len(p.startedConfigs([]*Source{s})) == 0 {
		return nil
	}
	return s
}

// configOfScript returns the only config that a script without settings passes to its program with any flag, as in
// --train_args_file args.json; nil if there is none, or several.
func (p *Found) configOfScript(name string) *Source {
	d := p.opened(name)
	if d == nil || d.Format() != doc.Shell {
		return nil
	}
	found := map[string]*Source{}
	for _, c := range d.Commands() {
		for _, word := range c.Words {
			_, value, glued := strings.Cut(word, "=")
			if glued {
				word = value
			}
			if !slices.Contains([]string{".yaml", ".yml", ".json", ".toml"}, path.Ext(word)) || path.IsAbs(word) || strings.Contains(word, "$") {
				continue
			}
			for _, at := range placesOf(name, word) {
				if s, _, err := readSource(p.files, at, false); err == nil && s != nil && !s.System.Tied {
					found[at] = s
					break
				}
			}
		}
	}
	if len(found) != 1 {
		return nil
	}
	for _, s := range found {
		return s
	}
	return nil
}

// namedFiles returns the files that a script names with a flag or by position.
func (s *Source) namedFiles() []string {
	out := links(s)
	for _, c := range s.Tree.Layers[0].Doc.Commands() {
		out = append(out, placed(c.Words)...)
	}
	return slices.DeleteFunc(out, func(name string) bool { return strings.Contains(name, "$") || path.IsAbs(name) })
}

// startingScripts returns the scripts among the files that have no settings themselves and start one of the
// sources.
func (p *Found) startingScripts(names []string, found []*Source) []*Source {
	var out []*Source
	for _, name := range names {
		data, err := p.files.ReadFile(name)
		if format, _ := doc.FormatOf(name, data); err != nil || format != doc.Shell {
			continue
		}
		d, err := openFile(p.files, name, data)
		if err != nil {
			continue
		}
		if s := NewSource(name, systems.Shell(), tree.New(tree.Layer{File: name, Doc: d})); len(s.startedBy(found)) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// placesOf returns the places to look for a file that a script names by a relative path: the project folder, the
// script's folder, and the folders above it, because the script may be started from any of them.
func placesOf(script, name string) []string {
	out := []string{path.Clean(name)}
	if path.IsAbs(name) {
		return out
	}
	for at := path.Dir(script); at != "." && at != "/"; at = path.Dir(at) {
		out = append(out, path.Join(at, name))
	}
	return out
}
