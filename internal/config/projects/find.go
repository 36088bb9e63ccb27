// SPDX-License-Identifier: Apache-2.0

// Package projects finds the configuration of a training run among the files in a folder, and reads the
// values of its system's keys. Package meaning interprets them.
package projects

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/systems"
)

// ErrNothing means that a folder contains no configuration that snug knows.
var ErrNothing = errors.New("no training config found")

// ErrSeveral means that a folder contains configurations of more than one run.
var ErrSeveral = errors.New("there are several configs here")

// nothingFound is ErrNothing for a folder with files that could not be used.
type nothingFound struct{ root, why string }

// Error returns why nothing was found.
func (n nothingFound) Error() string { return fmt.Sprintf("%v in %s; %s", ErrNothing, n.root, n.why) }

// Is reports whether e is ErrNothing.
func (n nothingFound) Is(e error) bool { return e == ErrNothing }

// Unusable returns why a file that looked like a configuration could not be used; "" if there was none.
func Unusable(err error) string {
	var n nothingFound
	errors.As(err, &n)
	return strings.TrimPrefix(n.why, unreadable)
}

// likeliest returns the note on a file with a usual main file name, or else the first note.
func likeliest(notes []string) string {
	for _, note := range notes {
		file, _, _ := strings.Cut(strings.TrimPrefix(note, unreadable), ":")
		if usualName(file) {
			return note
		}
	}
	return notes[0]
}

// unreadable begins the note on a file that cannot be read.
const unreadable = "skipped: "

// Find finds the settings of a project: in the named files, or else in any file in its folder. A snug.yaml
// there takes precedence.
func Find(files Files, root string, names ...string) (*Found, error) {
	read := newReader(files, names)
	p := &Found{Root: root, files: read, Names: names}
	own, err := readSnugFile(read)
	if err == nil && own != nil {
		err = own.Confine(files)
	}
	if err != nil {
		return nil, err
	}
	if own != nil && len(names) == 0 {
		names = own.Files
	}
	if err := p.gather(names, own != nil && len(own.Bind) > 0); err != nil {
		return nil, err
	}
	if own != nil {
		if err := p.adopt(own); err != nil {
			return nil, err
		}
	}
	if len(p.Bound) == 0 && !own.describes() {
		if len(p.Notes) > 0 {
			return nil, nothingFound{root, likeliest(p.Notes)}
		}
		if len(names) > 0 {
			return nil, p.silent(names[0])
		}
		return nil, fmt.Errorf("%w in %s; name one with --config-path FILE, or write a snug.yaml: snug init", ErrNothing, root)
	}
	p.settle()
	return p, nil
}

// gather reads the sources and binds their settings. If a snug.yaml binds settings itself, no source is
// needed.
func (p *Found) gather(names []string, bindsItself bool) error {
	found, err := p.sources(names)
	if err != nil {
		return err
	}
	if len(found) == 0 || bindsItself && len(names) == 0 {
		return nil
	}
	main, beside, err := p.choose(found, len(names) > 0)
	if err != nil && p.Unsearched != "" {
		return fmt.Errorf("%w; %s", err, p.Unsearched)
	}
	if err != nil {
		return err
	}
	attached := p.attached(main, beside)
	if len(names) > 0 {
		attached = withTied(main, beside, append(attached, p.stages(main)...))
	}
	attached = p.oneStarter(main, attached)
	p.Primary = main
	for _, s := range overridden(main, attached) {
		if err := p.bindSource(s); err != nil {
			return err
		}
	}
	if err := p.follow(); err != nil {
		return err
	}
	p.bindProgram()
	p.bindCalls()
	p.bindTotal()
	return nil
}

// oneStarter returns the attached sources with only one of the scripts that start the main program, preferably one
// with a usual name, because each may pass different flags.
func (p *Found) oneStarter(main *Source, attached []*Source) []*Source {
	if main.Tree.Layers[0].Doc.Format() != doc.Python {
		return attached
	}
	var starts []*Source
	for _, s := range attached {
		if s.startsMain(main) {
			starts = append(starts, s)
		}
	}
	if len(starts) == 0 {
		return attached
	}
	slices.SortStableFunc(starts, func(a, b *Source) int {
		return cmp.Or(boolOrder(usualScript(a.File), usualScript(b.File)), cmp.Compare(a.File, b.File))
	})
	p.Starter = starts[0]
	if len(starts) > 1 {
		p.Notes = append(p.Notes, fmt.Sprintf("%s start %s; the flags of %s are read; to use another, give --config-path FILE", Enumerate(fileNames(starts)), main.File, starts[0].File))
	}
	return slices.DeleteFunc(slices.Clone(attached), func(s *Source) bool { return slices.Contains(starts[1:], s) })
}

// usualScript reports whether a file has a usual name for a script that starts a run.
func usualScript(file string) bool {
	base := strings.TrimSuffix(path.Base(file), path.Ext(file))
	return base == "run" || usualName(file)
}

// boolOrder compares two conditions; true comes first.
func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// overridden returns the sources of a run in order of precedence: the script that starts the main source, if any,
// then the main source.
func overridden(main *Source, attached []*Source) []*Source {
	starts := slices.DeleteFunc(slices.Clone(attached), func(s *Source) bool { return !s.startsMain(main) })
	rest := slices.DeleteFunc(slices.Clone(attached), func(s *Source) bool { return slices.Contains(starts, s) })
	return slices.Concat(starts, []*Source{main}, rest)
}

// withTied returns the sources that belong to a main file that the user named, each once: the attached
// sources, and the other named files, which must agree with it.
func withTied(main *Source, beside, attached []*Source) []*Source {
	for _, s := range beside {
		if s.System.Tied {
			attached = append(attached, s)
		}
	}
	var out []*Source
	for _, s := range attached {
		if s.File != main.File && !slices.ContainsFunc(out, func(o *Source) bool { return o.File == s.File }) {
			out = append(out, s)
		}
	}
	return out
}

// sources reads the named files, or searches the folder if none are named.
func (p *Found) sources(names []string) ([]*Source, error) {
	if len(names) == 0 {
		return p.search()
	}
	var out []*Source
	for _, name := range names {
		s, notes, err := readSource(p.files, name, false)
		switch {
		case err != nil:
			return nil, err
		case s == nil:
			s = p.sourceOf(name)
		}
		if s == nil {
			return nil, p.silent(name)
		}
		if s.File != name && slices.Contains(names, s.File) { // the program's script is named too
			p.Flagged = ""
			continue
		}
		out = append(out, s)
		p.Notes = append(p.Notes, notes...)
	}
	return withoutParts(append(out, p.startedConfigs(out)...)), nil
}

// sourceOf returns the source of a named file without settings of its own, or nil. The ways to find one are tried in order,
// because each of them records what it has found.
func (p *Found) sourceOf(name string) *Source {
	for _, find := range []func(string) *Source{p.startingScript, p.configOfScript, p.hydraConfig, p.parsingProgram, p.scriptOfProgram, p.onlyStarter, p.documentedCommand} {
		if s := find(name); s != nil {
			return s
		}
	}
	return nil
}

// search looks for sources in the folder.
func (p *Found) search() ([]*Source, error) {
	all, large, err := scan(p.files)
	if err != nil {
		return nil, fmt.Errorf("looking through %s: %w", p.Root, err)
	}
	if len(large) > 0 {
		p.Notes = append(p.Notes, largeNote(large))
	}
	read, unread := p.files.lookAt(all, func(*Source) bool { return true })
	if p.Unsearched = unsearchedNote(unread, len(all)); unread > 0 {
		p.Notes = append(p.Notes, p.Unsearched)
	}
	var out []*Source
	var silent []string
	for _, x := range read {
		switch {
		case x.err != nil:
			p.Notes = append(p.Notes, unreadable+x.err.Error())
			p.Unreadable = append(p.Unreadable, BrokenFile{x.name, x.err})
		case x.source != nil:
			out = append(out, x.source)
			p.Notes = append(p.Notes, x.notes...)
		default:
			silent = append(silent, x.name)
		}
	}
	out = withoutParts(out)
	return append(out, p.startingScripts(silent, out)...), nil
}

// withoutParts drops files that are layers of another file's tree.
func withoutParts(found []*Source) []*Source {
	trees := map[string]int{} // for each file, the number of trees that it is a layer of
	for _, s := range found {
		files := map[string]bool{}
		for _, l := range s.Tree.Layers {
			files[l.File] = true
		}
		for file := range files {
			trees[file]++
		}
	}
	return slices.DeleteFunc(slices.Clone(found), func(s *Source) bool { return trees[s.File] > 1 })
}

// bindSource binds the settings of a source.
func (p *Found) bindSource(s *Source) error {
	found, err := s.Bind()
	if err != nil {
		return err
	}
	if s != p.Primary && s.startsMain(p.Primary) && !p.Primary.System.ByName {
		o, err := s.overridesOf(p.Primary)
		if err != nil {
			return err
		}
		found = slices.Concat(o.bound, slices.DeleteFunc(slices.Clone(found), func(b Bound) bool { return isFlag(b.Path) && o.paths[flagPath(b.Path[0])] }))
		p.overridden = o
	}
	p.Notes = append(p.Notes, s.CommandNotes()...)
	for _, b := range found {
		if p.isGiven(b) || s == p.Primary && p.overridden.replaces(b) {
			continue
		}
		p.Notes = append(p.Notes, b.notes()...)
		if len(b.rivals) == 0 {
			p.bind(b)
			continue
		}
		if p.ambiguous == nil {
			p.ambiguous = map[string]string{}
		}
		p.ambiguous[b.Setting] = b.ambiguity()
	}
	return nil
}

// isGiven reports whether a binding is the default of a flag that the starting script passes.
func (p *Found) isGiven(b Bound) bool {
	return p.Starter != nil && b.Source == p.Primary && isFlag(b.Path) && slices.ContainsFunc(p.bySetting[b.Setting], func(o Bound) bool { return o.Source == p.Starter })
}

// isFlag reports whether a path ends in a flag.
func isFlag(p doc.Path) bool { return len(p) > 0 && strings.HasPrefix(p[len(p)-1], "--") }

// settle sorts the bindings and the notes.
func (p *Found) settle() {
	order := func(b Bound) int {
		if i, ok := systems.SettingOrder()[b.Setting]; ok {
			return i
		}
		return -1
	}
	slices.SortStableFunc(p.Bound, func(a, b Bound) int { return order(a) - order(b) })
	slices.Sort(p.Notes)
	p.Notes = slices.Compact(p.Notes)
}

// bind adds a binding to those of its setting.
func (p *Found) bind(b Bound) {
	if p.bySetting == nil {
		p.bySetting = map[string][]Bound{}
	}
	p.Bound = append(p.Bound, b)
	p.bySetting[b.Setting] = append(p.bySetting[b.Setting], b)
}

// unbind removes the bindings of a setting.
func (p *Found) unbind(setting string) {
	p.Bound = slices.DeleteFunc(p.Bound, func(o Bound) bool { return o.Setting == setting })
	delete(p.bySetting, setting)
}

// unbindExpressions removes the bindings of a setting whose values are unknown.
func (p *Found) unbindExpressions(setting string) {
	isExpression := func(o Bound) bool { return o.Setting == setting && o.Value == nil && o.Unknown == "" }
	p.Bound = slices.DeleteFunc(p.Bound, isExpression)
	if of := p.bySetting[setting]; of != nil {
		p.bySetting[setting] = slices.DeleteFunc(of, isExpression)
	}
}

// BindingsOf returns the bindings of one setting. The caller must not change them.
func (p *Found) BindingsOf(setting string) []Bound { return p.bySetting[setting] }

// Main returns the file with the run's settings, and its system; if snug.yaml contains all settings, it returns
// that name and no system.
func (p *Found) Main() (file, title string) {
	if p.Primary == nil {
		return SnugFile, ""
	}
	return p.Primary.File, p.Primary.System.Title
}

// Origin describes where the settings come from, such as train.yaml (hf).
func (p *Found) Origin() string {
	file, title := p.Main()
	if title == "" {
		return file
	}
	return fmt.Sprintf("%s (%s)", file, title)
}

// Where returns file:line of a binding.
func (b Bound) Where() string { return fmt.Sprintf("%s:%d", b.File, b.Line) }

// Enumerate lists names on one line, only the first few if there are many.
func Enumerate(names []string) string {
	if len(names) > 4 {
		names = append(names[:3:3], fmt.Sprintf("%d more", len(names)-3))
	}
	return strings.Join(names, ", ")
}

// BrokenFile is a possible configuration of the run that could not be opened or parsed.
type BrokenFile struct {
	File string // relative to the folder
	Err  error  // the error, with its line if known
}

// SourcesRead returns the sources that the settings come from, the main one first.
func (p *Found) SourcesRead() []*Source {
	var out []*Source
	if p.Primary != nil {
		out = append(out, p.Primary)
	}
	for _, b := range p.Bound {
		if !slices.Contains(out, b.Source) {
			out = append(out, b.Source)
		}
	}
	return out
}
