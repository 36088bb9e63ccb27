// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"snug/internal/catalog"
	"snug/internal/family"
	"snug/internal/files"
	"snug/internal/pattern"
	"snug/internal/spelling"
)

// Source provides the files and models named in a setup.
type Source struct {
	// Open opens a file; nil means that no files can be read.
	Open func(path string) (io.ReadCloser, error)
	// Hub is the Hugging Face cache folder with the models--org--name folders.
	Hub string
	// Base is the folder that relative paths in the setup refer to.
	Base string
	// Profile reads a profile; nil means that profiles cannot be read.
	Profile func(io.Reader) (Program, error)
	// Survey follows a setup's script to find out what it shows about the run; nil means that scripts are not
	// followed for this.
	Survey func(s *Setup) (Survey, error)
	// AnyBatch means that a batch is searched for, so none is required.
	AnyBatch bool
	// Guessed means that the setup's loop was found in files, not named by the user. If it cannot be followed, snug's
	// own step is used, with a note.
	Guessed bool
	// OwnClass says which model class such a loop trains, if the project defines it; otherwise it is nil or returns "". If
	// the loop cannot be followed, snug's own step would train another model.
	OwnClass func() string
	// StandsFor means that the setup's model only stands for the one that the script's own code builds.
	StandsFor bool
	// Variables are the sizes that such a script assigns to its own variables.
	Variables map[string]Variable
	// Asked lists the fields that the user gave in addition to the run's files; they override a trainer in a script.
	// Flags maps field names to the script's flags for them.
	Asked map[string]bool
	Flags map[string]string
	// Programs caches profiles by name; it may be nil.
	Programs map[string]Program
}

// Variable is a size of the run that a script assigns to a variable.
type Variable struct {
	Field string // batch, seq or accumulation
	Value int    // as written in the script
}

const maxConfig = 16 << 20 // maximum bytes of a config.json

// model decodes the model field.
func (o *object) model(s *Setup, from Source) error {
	s.Model = Model{Name: o.text("name"), Profile: o.text("profile"), Head: o.choice("head", "", family.Heads()), Code: o.flag("code", false), Program: s.Model.Program}
	config := o.value("config")
	custom := o.value("custom")
	o.value("args") // a field of custom models, not read here
	if err := o.done(); err != nil {
		return err
	}
	if custom != nil {
		return unknownModel("{model.custom} %s is code that snug cannot simulate; record a profile: snug profile -- <your command>", show(custom))
	}
	given := 0
	for _, is := range []bool{config != nil, s.Model.Name != "", s.Model.Profile != "", s.Model.Code} {
		if is {
			given++
		}
	}
	switch {
	case given == 0:
		return unknownModel("{model} has no config, name or profile; give one of them")
	case given > 1:
		return Wrong("{model} has more than one of config, name and profile; keep one")
	case s.Model.Code:
		return s.checkCode()
	case s.Model.Profile != "":
		return nil // already read, because the profile's quantities are fields of the setup
	case s.Model.Name != "":
		return s.Model.named(from)
	}
	return s.Model.configured(config, from)
}

// configured sets the config, given as an object or as a path.
func (m *Model) configured(config any, from Source) error {
	switch v := config.(type) {
	case map[string]any:
		m.Config = v
	case string:
		if err := m.load(v, from); err != nil {
			return err
		}
	default:
		return Wrong("{model.config} is %s; it must be the contents of a config.json, or the path of one", show(v))
	}
	return m.adopt()
}

// adopt checks a config and reads the head from it.
func (m *Model) adopt() error {
	if text, ok := m.Config["text_config"].(map[string]any); ok && m.Config["model_type"] == nil {
		m.Config = text
	}
	if t, ok := m.Config["model_type"].(string); !ok || t == "" {
		return fmt.Errorf("config key \"model_type\" is missing; known: %s", strings.Join(family.Known(), ", "))
	}
	if err := checkConfig(m.Config); err != nil {
		return err
	}
	if m.Head != "" {
		return nil
	}
	var err error
	m.Head, err = headOf(m.Config)
	return err
}

// named looks up a name: a built-in model, a model in the Hugging Face cache, or a path.
func (m *Model) named(from Source) error {
	if strings.HasPrefix(m.Name, "torchvision/") {
		known := family.NamedModels()
		for _, n := range known {
			if n == m.Name {
				return nil
			}
		}
		return unknownModel("{model.name} %q is not known%s", m.Name, spelling.Hint(m.Name, known, "known: "+strings.Join(known, ", ")))
	}
	if e := catalog.Find(m.Name); e != nil {
		m.Name, m.Config = e.Name, e.Config
		return m.adopt()
	}
	if err := m.found(from); err != nil {
		return err
	}
	return m.adopt()
}

// named returns the configuration of a model that a script names: a path, as in transformers, or else a built-in name
// or one in the Hugging Face cache.
func (from Source) named(name string) (map[string]any, error) {
	m := Model{Name: name}
	if m.load(name, from) == nil {
		return m.Config, m.adopt()
	}
	return m.Config, m.named(from)
}

// found reads the config of a model that is not built in.
func (m *Model) found(from Source) error {
	name := m.Name
	if from.Hub != "" && strings.Count(name, "/") <= 1 && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "/") {
		repo := path.Join(from.Hub, "models--"+strings.ReplaceAll(name, "/", "--"))
		if ref, err := (Source{Open: from.Open}).read(path.Join(repo, "refs", "main")); err == nil {
			return m.load(path.Join(repo, "snapshots", strings.TrimSpace(string(ref))), Source{Open: from.Open})
		}
	}
	if err := m.load(name, from); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return m.assumed()
}

// assumed assumes that the name refers to a built-in model with the same base name; otherwise it returns an error
// with what is known about the name.
func (m *Model) assumed() error {
	if e, what := catalog.Assume(m.Name); e != nil {
		m.Config, m.TakenFor = e.Config, what
		return nil
	}
	if what := catalog.Unsimulated(m.Name); what != "" && len(catalog.Like(m.Name)) == 0 {
		return unknownModel("{model.name} %q is %s, which is not simulated; measure the run: snug profile -- <your command>", m.Name, what)
	}
	return unknownModel("{model.name} %q is not known%s", m.Name, modelHint(m.Name))
}

// modelHint suggests a model whose name has the same words (catalog.Like) or nearly the same letters (spelling.Hint).
func modelHint(name string) string {
	near := name
	if !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, ".") {
		near = path.Base(name) // a copy of a model usually keeps its name
	}
	for _, n := range family.NamedModels() {
		if strings.EqualFold(path.Base(n), unseparated.Replace(near)) {
			return "; did you mean " + n + "?"
		}
	}
	switch like := catalog.Like(near); {
	case len(originals(near)) > 0:
		like = originals(near)
		return "; did you mean " + strings.Join(like[:min(len(like), 3)], " or ") + "?"
	case len(like) > 0 && !strings.Contains(like[0], "/"): // a name without an organization is the original model
		return "; did you mean " + like[0] + "?"
	case len(like) > 0:
		return "; did you mean " + strings.Join(like[:min(len(like), 3)], " or ") + "?"
	}
	return spelling.Hint(near, append(catalog.Names(), family.NamedModels()...),
		"it is neither built in (snug models lists those) nor a config.json nor in the Hugging Face cache")
}

// unseparated removes the separators that other libraries put into the names of torchvision's models: resnet-50.
var unseparated = strings.NewReplacer("-", "")

// versionDigit matches a letter followed by the digit of a version, as in llama3.
var versionDigit = pattern.New(`([A-Za-z])([0-9])`)

// originals lists the models without an organization that match a name whose version is not separated from the word
// before it: llama-3-8b and others for llama3.
func originals(name string) []string {
	apart := versionDigit.Regexp().ReplaceAllString(name, "$1 $2")
	if apart == name {
		return nil
	}
	return slices.DeleteFunc(catalog.Like(apart), func(n string) bool { return strings.Contains(n, "/") })
}

// load reads a config.json, given its path or its folder, and the headers of the weight files next to it.
func (m *Model) load(at string, from Source) error {
	config, name, err := from.config(at)
	if err != nil {
		return err
	}
	m.Config, m.Weights = config, from.weights(filepath.Dir(name))
	return nil
}

// config reads a config.json, given its path or its folder, and returns its path.
func (from Source) config(at string) (map[string]any, string, error) {
	if at == "" {
		return nil, "", Wrong("{model.config} is an empty path")
	}
	name := at
	data, err := from.read(at)
	if err != nil && !errors.Is(err, files.ErrNotRegular) && !strings.HasSuffix(at, ".json") {
		missing := errors.Is(err, fs.ErrNotExist)
		name = filepath.Join(at, "config.json")
		if data, err = from.read(name); err != nil && missing {
			name = at // the folder does not exist either
		}
	}
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("reading the config %s: %w", name, reason(err))
	case len(bytes.TrimSpace(data)) == 0:
		return nil, "", fmt.Errorf("reading the config %s: the file is empty", name)
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, "", fmt.Errorf("%s:%w", name, jsonError(data, 1, err))
	}
	config, ok := v.(map[string]any)
	if !ok {
		return nil, "", fmt.Errorf("%s contains %s; a config.json must be an object", name, show(v))
	}
	return config, name, nil
}

// open opens a file named in a setup.
func (from Source) open(name string) (io.ReadCloser, error) {
	if from.Open == nil {
		return nil, fs.ErrNotExist
	}
	if from.Base != "" && !filepath.IsAbs(name) {
		name = filepath.Join(from.Base, name)
	}
	return from.Open(name)
}

func (from Source) read(name string) ([]byte, error) {
	f, err := from.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return files.ReadAll(f, maxConfig)
}

// reason returns an error without its operation and path, which the message already has.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Known reports whether a family covers the model.
func (m Model) Known() bool {
	t, _ := m.Config["model_type"].(string)
	return m.Config == nil || slices.Contains(family.Known(), t)
}
