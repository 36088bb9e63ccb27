// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"snug/internal/config/doc"
	"snug/internal/config/tree"
)

// reader reads a project's files, each once, and tracks the limits.
type reader struct {
	files   Files
	named   []string // files that the user named
	texts   map[string][]byte
	trees   map[string]*doc.Document // files of Hydra's groups
	left    int                      // bytes that may still be read
	parse   int                      // bytes that may still be parsed
	keep    int                      // values that may still be kept
	compose int                      // values that Hydra trees may still have
}

func newReader(files Files, named []string) *reader {
	return &reader{
		files: files, named: named, texts: map[string][]byte{}, trees: map[string]*doc.Document{},
		left: maxRead, parse: maxParsed, keep: maxKept, compose: maxComposed,
	}
}

// errSpent means that a limit on the total of all files was reached.
var errSpent = errors.New("the project is too large to search; name the config: --config-path FILE")

// ReadDir lists a folder.
func (r *reader) ReadDir(name string) ([]fs.DirEntry, error) { return r.files.ReadDir(name) }

// ReadFile reads a file.
func (r *reader) ReadFile(name string) ([]byte, error) {
	name = path.Clean(name)
	if data, ok := r.texts[name]; ok {
		return data, nil
	}
	if r.left <= 0 {
		return nil, errSpent
	}
	data, err := r.files.ReadFile(name)
	if err != nil {
		return nil, err
	}
	most := largestFile
	if ext := path.Ext(name); slices.Contains(r.named, name) && ext != ".py" && ext != ".sh" { // programs are hand-written, and smaller
		most = largestNamed
	}
	if len(data) > most {
		return nil, fmt.Errorf("larger than %d MiB, too large for a config; is it the right file?", most>>20)
	}
	if bytes.Count(data, []byte(","))+bytes.Count(data, []byte("\n")) > maxKept {
		return nil, errDense
	}
	if r.left -= len(data); r.left < 0 {
		return nil, errSpent
	}
	r.texts[name] = data
	return data, nil
}

// errDense means that a file, judging by its commas and lines, has more values than the limit for all files.
// Parsing it just to count them would take hundreds of megabytes.
var errDense = fmt.Errorf("more than %d lines and commas, too many for a config; is it the right file?", maxKept)

// open returns a YAML file of a Hydra group, parsing it only once.
func (r *reader) open(name string) (*doc.Document, error) {
	if d, ok := r.trees[name]; ok {
		return d, nil
	}
	data, err := r.ReadFile(name)
	if err != nil {
		return nil, err
	}
	d, err := doc.OpenAs(name, doc.YAML, data)
	if err != nil {
		return nil, err
	}
	if r.keep -= values(d); r.keep < 0 {
		return nil, errSpent
	}
	r.trees[name] = d
	return d, nil
}

// composed counts the values of a Hydra tree, and returns an error if there are too many. Even an empty layer
// takes some time, so each counts.
func (r *reader) composed(layers []tree.Layer) error {
	const layerCost = 20
	for _, l := range layers {
		if r.compose -= layerCost + values(l.Doc); r.compose < 0 {
			return errSpent
		}
	}
	return nil
}

// values returns the number of values in a document.
func values(d *doc.Document) int {
	n := 0
	d.Walk(func(doc.Value) bool {
		n++
		return true
	})
	return n
}

// candidateFile is a file that a search found.
type candidateFile struct {
	name string
	size int64
}

// searched is the result of reading a file in a search.
type searched struct {
	name   string
	source *Source // nil if no system matches
	notes  []string
	err    error
}

// lookAt parses the files that a search found, smallest first, within the limits. It returns the files that
// keep accepts, in search order; unread is the number of files that were not read.
func (r *reader) lookAt(all []candidateFile, keep func(*Source) bool) (out []searched, unread int) {
	order := make([]int, len(all))
	for i := range all {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(all[a].size - all[b].size) })
	at := make([]*searched, len(all))
	for _, i := range order {
		x := r.lookOnce(all[i].name, keep)
		if at[i] = x; x == nil {
			unread++
		}
	}
	for _, x := range at {
		if x != nil {
			out = append(out, *x)
		}
	}
	return out, unread
}

// lookOnce is lookAt for one file; it returns nil if a limit is reached.
func (r *reader) lookOnce(name string, keep func(*Source) bool) *searched {
	if r.keep < 0 {
		return nil
	}
	s, notes, err := readSource(r, name, true)
	if errors.Is(err, errSpent) {
		return nil
	}
	if s == nil || !keep(s) {
		return &searched{name: name, notes: notes, err: err}
	}
	if len(s.Tree.Layers) == 1 { // the files of groups were counted as they were opened
		if r.keep -= values(s.Tree.Layers[0].Doc); r.keep < 0 {
			return nil
		}
	}
	return &searched{name, s, notes, err}
}

// unsearchedNote returns the note on the files that a search did not read.
func unsearchedNote(n, of int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("the %d largest of the %d possible configs here were not read: snug reads at most %d MiB or %d values; if you need one of them, name it: --config-path FILE",
		n, of, maxParsed>>20, maxKept)
}
