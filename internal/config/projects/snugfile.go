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
	"snug/internal/spelling"
)

// A snug.yaml in the user's project specifies where its settings are, for configs that match no known system:
//
//	model:                       # as in a setup: name, config, profile, head
//	  name: all-mpnet-base-v2
//	files: [conf/config.yaml]    # read these and look no further
//	bind:                        # setting: file#path.to.key, or a list of them
//	  batch: conf/config.yaml#data_loader.batch_size
//	  checkpointing: not train.py#NO_CHECKPOINTS
//	set:                         # values that no file sets
//	  seq: 128
//	command: python train.py     # what trains, for snug optimize --profile
//
// Goals: short enough to write by hand; any file with keys can be bound. Non-goals: describing a run in full
// (a setup does that), or any logic.

// SnugFile is the name of the project's own settings file. snug init writes it (config/snugfile_write.go).
const SnugFile = "snug.yaml"

// OwnFile is a snug.yaml.
type OwnFile struct {
	Files   []string       // the only files to read
	Model   map[string]any // as in a setup
	Bind    []OwnBinding   // where settings are
	Set     map[string]any // values that no file sets
	Command []string       // the words of the command that trains
}

// OwnBinding is a setting and one place where it is.
type OwnBinding struct {
	Setting string // the name of the setting
	file    string
	Path    doc.Path // path of the value in the file
	Not     bool     // the file contains the opposite of the setting
	where   string   // position in the snug.yaml
}

// describes reports whether a snug.yaml contains settings of its own, without other files.
func (own *OwnFile) describes() bool { return own != nil && (len(own.Model) > 0 || len(own.Set) > 0) }

// readSnugFile reads the project's snug.yaml; nil if there is none.
func readSnugFile(files Files) (*OwnFile, error) {
	data, err := files.ReadFile(SnugFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", SnugFile, reason(err))
	}
	return ParseSnugFile(data)
}

// ParseSnugFile reads the text of a snug.yaml.
func ParseSnugFile(data []byte) (*OwnFile, error) {
	d, err := doc.OpenAs(SnugFile, doc.YAML, data)
	if err != nil {
		return nil, err
	}
	root, err := d.Find(nil)
	if err != nil {
		return nil, err
	}
	r := &ownReader{t: tree.New(tree.Layer{File: SnugFile, Doc: d}), own: &OwnFile{Set: map[string]any{}}}
	if root.Kind == doc.Null {
		return r.own, nil
	}
	if root.Kind != doc.Map {
		return nil, fmt.Errorf("%s:%d:%d: a snug.yaml must be a map with the keys model, files, bind, set and command, but this is a %s", SnugFile, root.Line, root.Column, root.Kind)
	}
	for _, key := range root.Keys {
		if err := r.section(key); err != nil {
			return nil, err
		}
	}
	return r.own, nil
}

// ownReader reads the sections of a snug.yaml.
type ownReader struct {
	t   tree.Tree
	own *OwnFile
}

func (r *ownReader) section(key string) error {
	known := []string{"model", "files", "bind", "set", "command"}
	at, err := r.t.Find(doc.Path{key})
	if err != nil {
		return err
	}
	if !slices.Contains(known, key) {
		return r.fail(at, "unknown key %q%s", key, spelling.Hint(key, known, "known: "+strings.Join(known, ", ")))
	}
	if at.Value.Kind == doc.Null {
		return nil
	}
	if key == "command" {
		return r.command(at)
	}
	if want := map[string]doc.Kind{"files": doc.List}[key]; want != "" && at.Value.Kind != want || want == "" && at.Value.Kind != doc.Map {
		return r.fail(at, "%s is a %s, which is not allowed here; run snug init for an example", key, at.Value.Kind)
	}
	switch key {
	case "model":
		v, err := object(r.t, at)
		r.own.Model, _ = v.(map[string]any)
		return err
	case "files":
		names, err := valueReader{&systems.Key{Kind: systems.Names, Setting: "files"}}.readNames(r.t, at)
		if err != nil {
			return err
		}
		for _, n := range names.([]string) {
			r.own.Files = append(r.own.Files, path.Clean(n))
		}
		return nil
	case "set":
		return r.set(at)
	}
	return r.bind(at)
}

func (r *ownReader) fail(at tree.Place, format string, args ...any) error {
	return fmt.Errorf("%s:%d:%d: %s", SnugFile, at.Value.Line, at.Value.Column, fmt.Sprintf(format, args...))
}

// command reads the training command: a list of words, or one line without quotes.
func (r *ownReader) command(at tree.Place) error {
	words, err := valueReader{&systems.Key{Kind: systems.Names, Setting: "command"}}.readPlaces(r.t, at)
	if err != nil {
		return err
	}
	if len(words) == 1 {
		if strings.ContainsAny(words[0], "\"'`\\$|&;<>") {
			return r.fail(at, "command contains shell syntax; write it as a list of words, or put it into a script")
		}
		words = strings.Fields(words[0])
	}
	r.own.Command = words
	return nil
}

// Command returns the training command in a project's snug.yaml, or nil if there is none.
func Command(files Files) ([]string, error) {
	own, err := readSnugFile(files)
	if own == nil || err != nil {
		return nil, err
	}
	return own.Command, nil
}

func (r *ownReader) set(at tree.Place) error {
	for _, key := range at.Value.Keys {
		item, err := r.t.Find(at.At.Join(key))
		if err != nil {
			return err
		}
		s, err := systems.SettingNamed(key)
		if err != nil {
			return r.fail(item, "%v", err)
		}
		k := systems.Key{Setting: key, Kind: s.Kind}
		if s.Kind == systems.Word {
			for _, w := range s.Words {
				k.Words = append(k.Words, systems.Term{File: w, Means: w})
			}
		}
		v, err := valueReader{&k}.read(r.t, item)
		if err != nil {
			return err
		}
		if u, ok := v.(unknownWord); ok {
			return r.fail(item, "%v", s.Check(u.text))
		}
		if err := s.Check(v); err != nil {
			return r.fail(item, "%v", err)
		}
		r.own.Set[key] = v
	}
	return nil
}

func (r *ownReader) bind(at tree.Place) error {
	for _, key := range at.Value.Keys {
		item, err := r.t.Find(at.At.Join(key))
		if err != nil {
			return err
		}
		if _, err := systems.SettingNamed(key); err != nil {
			return r.fail(item, "%v", err)
		}
		places, err := valueReader{&systems.Key{Kind: systems.Names, Setting: key}}.readPlaces(r.t, item)
		if err != nil {
			return err
		}
		for _, text := range places {
			b := OwnBinding{Setting: key, where: fmt.Sprintf("%s:%d", SnugFile, item.Value.Line)}
			text, b.Not = strings.CutPrefix(text, "not ")
			file, p, ok := strings.Cut(strings.TrimSpace(text), "#")
			if b.Path, err = doc.ParsePath(p); err != nil || !ok || file == "" {
				return r.fail(item, "%q must have the form conf/config.yaml#data.batch_size", text)
			}
			b.file = path.Clean(file)
			r.own.Bind = append(r.own.Bind, b)
		}
	}
	return nil
}

// readPlaces reads one string or a list of strings; a place may contain spaces.
func (k valueReader) readPlaces(t tree.Tree, at tree.Place) ([]string, error) {
	if text, ok := at.Value.Data.(string); ok {
		return []string{text}, nil
	}
	if at.Value.Kind != doc.List {
		return nil, k.wrong(at)
	}
	names, err := k.readNames(t, at)
	if err != nil {
		return nil, err
	}
	return names.([]string), nil
}
