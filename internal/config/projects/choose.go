// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/systems"
	"snug/internal/config/tree"
	"snug/internal/files"
)

// A folder often contains several configurations. One is the run's main file; some belong to it (a DeepSpeed
// file, a launcher's config, the stages of a curriculum), and others are unrelated. The rules, strongest
// first:
//
//   - if a script that starts the run names a config, that config is used;
//   - the most specific system is used, and the others are listed in a note;
//   - among files of the same system, one with a usual main file name is used;
//   - otherwise the user must choose.

// mainNames are the usual names of a run's main config file.
var mainNames = []string{"config", "train", "training", "main", "conf", "default"}

// choose returns the run's main source and the other sources.
func (p *Found) choose(found []*Source, named bool) (main *Source, rest []*Source, err error) {
	mains := slices.DeleteFunc(slices.Clone(found), func(s *Source) bool { return s.System.Tied || !holds(s, "batch") })
	if len(mains) == 0 {
		mains = slices.DeleteFunc(slices.Clone(found), func(s *Source) bool { return !holds(s, systems.DistinctiveSettings()...) })
	}
	if len(mains) == 0 {
		mains = found
	}
	if named {
		mains = mains[:1]
	}
	if s := started(found, mains); s != nil && !named {
		mains = []*Source{s}
	}
	if several := severalStarted(found); named && len(several) > 1 {
		return nil, nil, fmt.Errorf("%w: %s starts %s; name the one to use: --config-path %s", ErrSeveral, found[0].File, Enumerate(fileNames(several)), several[0].File)
	}
	if s := started(found[:1], found[1:]); s != nil && named && !s.System.Tied && s.Tree.Layers[0].Doc.Format() != doc.Python {
		mains = []*Source{s} // the user named the script that starts this config
	}
	if len(mains) > 1 {
		if mains, err = p.mostSpecific(mains); err != nil {
			return nil, nil, err
		}
	}
	main = mains[0]
	return main, slices.DeleteFunc(slices.Clone(found), func(s *Source) bool { return s == main }), nil
}

// severalStarted returns the configurations that the first source starts, if it is a script. Programs are not
// included.
func severalStarted(found []*Source) []*Source {
	s := found[0]
	if s.System.Commands == nil {
		return nil
	}
	var out []*Source
	for _, m := range append(s.linked(found[1:]), s.startedBy(found[1:])...) {
		if !slices.Contains(out, m) && !m.System.Tied && m.Tree.Layers[0].Doc.Format() != doc.Python {
			out = append(out, m)
		}
	}
	return out
}

// holds reports whether a source binds any of the given settings.
func holds(s *Source, settings ...string) bool {
	found, err := s.Bind()
	return err != nil || slices.ContainsFunc(found, func(b Bound) bool { return slices.Contains(settings, b.Setting) })
}

// links returns the files that a source names.
func links(s *Source) []string {
	found, err := s.Bind()
	if err != nil {
		return nil
	}
	var out []string
	for _, b := range found {
		if text, ok := b.Value.(string); ok && b.Setting == "link" {
			out = append(out, text)
		}
	}
	return out
}

// mostSpecific returns the sources of the most specific system or, if one of them has a usual main file name,
// only that one.
func (p *Found) mostSpecific(mains []*Source) ([]*Source, error) {
	order := systems.All()
	rank := func(s *Source) int {
		if s.System.For != nil {
			return slices.IndexFunc(order, func(a *systems.System) bool { return a.Commands != nil && a.OwnProgram && a.For == nil }) // a program ranks like a shell script, which may set its arguments with flags
		}
		return slices.Index(order, s.System)
	}
	slices.SortStableFunc(mains, func(a, b *Source) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return strings.Count(a.File, "/") - strings.Count(b.File, "/")
	})
	first := mains[0]
	best := slices.DeleteFunc(slices.Clone(mains), func(s *Source) bool { return s.System != first.System })
	if len(best) > 1 {
		if usual := slices.DeleteFunc(slices.Clone(best), func(s *Source) bool { return !usualName(s.File) }); len(usual) == 1 {
			best = usual
		}
	}
	if len(best) > 1 {
		return nil, fmt.Errorf("%w: %s; name the one to use: --config-path %s", ErrSeveral, Enumerate(fileNames(best)), best[0].File)
	}
	var others []string
	for _, s := range mains {
		choice := best[0].System.Composes && strings.HasPrefix(s.File, path.Dir(best[0].File)+"/") // an option of a config group
		if s != best[0] && !choice && !nearby(best[0], s) && !slices.Contains(best[0].programs(), s.File) {
			others = append(others, fmt.Sprintf("%s (%s)", s.File, s.System.Name))
		}
	}
	if len(others) > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("using %s (%s), not %s; to use another, give --config-path FILE", best[0].File, best[0].System.Name, Enumerate(others)))
	}
	return best[:1], nil
}

// Nonexistent ends the note on a file that is named but missing. A warning explains how that affects the run.
const Nonexistent = ", which does not exist"

func fileNames(of []*Source) []string {
	var out []string
	for _, s := range of {
		out = append(out, s.File)
	}
	return out
}

func usualName(file string) bool {
	base := strings.TrimSuffix(path.Base(file), path.Ext(file))
	return slices.Contains(mainNames, strings.ToLower(base))
}

// attached returns the sources that belong to the main one: files that are read with it, the stages of a
// curriculum, and the script that starts it.
func (p *Found) attached(main *Source, rest []*Source) []*Source {
	var out []*Source
	tied := map[*systems.System][]*Source{}
	for _, s := range rest {
		switch {
		case s.startsMain(main):
			out = append([]*Source{s}, out...) // its flags take precedence over the file
		case s.System.Launcher:
			tied[s.System] = append(tied[s.System], s)
		case nearby(main, s):
			out = append(out, s)
		}
	}
	for system, of := range tied {
		if len(of) == 1 {
			out = append(out, of[0])
		} else {
			p.Notes = append(p.Notes, fmt.Sprintf("there are several %s configs here, so none was used: %s", system.Title, Enumerate(fileNames(of))))
		}
	}
	return out
}

// stages searches the folder of a named main file for the stages that belong to it. Files that cannot be
// read are not stages.
func (p *Found) stages(main *Source) []*Source {
	if !main.System.HasStages {
		return nil
	}
	all, _, err := scan(p.files)
	if err != nil {
		return nil
	}
	dir := path.Dir(main.File)
	all = slices.DeleteFunc(all, func(f candidateFile) bool {
		return f.name == main.File || dir != "." && !strings.HasPrefix(f.name, dir+"/")
	})
	read, unread := p.files.lookAt(all, func(s *Source) bool { return nearby(main, s) })
	p.Unsearched = unsearchedNote(unread, len(all))
	var out []*Source
	for _, x := range read {
		if x.source != nil && x.err == nil {
			out = append(out, x.source)
		}
	}
	return out
}

// nearby reports whether a file is in or below the main file's folder and is a curriculum stage: it has keys
// for samples per anchor but none for a batch. Only keys are checked, so an invalid value is an error in a
// stage but not in other files.
func nearby(main, s *Source) bool {
	dir := path.Dir(main.File)
	if !s.System.MayBeStage || dir != "." && !strings.HasPrefix(s.File, dir+"/") {
		return false
	}
	has := map[string]bool{}
	for _, c := range candidates(s.System, s.Tree) {
		has[c.key.Setting] = true
	}
	return !has["batch"] && (has["positives"] || has["negatives"])
}

// follow reads the configs that the sources name, and those that these name in turn: an accelerate config may name a
// DeepSpeed config.
func (p *Found) follow() error {
	for n := 0; n < len(p.BindingsOf("link")); n++ {
		b := p.BindingsOf("link")[n]
		name, ok := b.Value.(string)
		if !ok || name == "" || path.IsAbs(name) && !strings.HasSuffix(name, ".json") || !b.namesFile(name) || slices.ContainsFunc(p.Bound, func(o Bound) bool { return o.File == name }) {
			continue
		}
		if p.preset(b, name) {
			continue
		}
		var s *Source
		err := error(fs.ErrNotExist)
		for _, at := range placesOf(b.File, name) {
			if errors.Is(err, fs.ErrNotExist) {
				s, err = p.readLinked(b, at)
			}
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			p.Notes = append(p.Notes, fmt.Sprintf("%s names %s%s", b.Where(), name, Nonexistent))
			p.noteAbsent(b, name)
			continue
		case errors.Is(err, files.ErrFolder): // probably a model's folder
			continue
		case err != nil:
			return err
		case s == nil || !s.System.Tied:
			continue
		}
		s.Link = &b
		if err := p.bindSource(s); err != nil {
			return err
		}
	}
	return nil
}

// readLinked reads a file that a key names. If no system is recognized in the file, the key decides: a DeepSpeed config
// may contain nothing but gradient clipping.
func (p *Found) readLinked(b Bound, name string) (*Source, error) {
	s, _, err := readSource(p.files, name, false)
	if err != nil || s != nil && s.System.Tied {
		return s, err
	}
	for _, a := range systems.All() {
		if !a.Tied || !strings.Contains(b.Key.Path, a.Name) {
			continue
		}
		data, err := p.files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if format, known := doc.FormatOf(name, data); !known || !slices.Contains(a.Formats, format) {
			continue
		}
		d, err := openFile(p.files, name, data)
		if err != nil {
			return nil, err
		}
		return NewSource(name, a, tree.New(tree.Layer{File: name, Doc: d})), nil
	}
	return s, nil
}
