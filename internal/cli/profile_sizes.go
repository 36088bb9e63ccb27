// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"snug/internal/config"
	"snug/internal/config/doc"
	"snug/internal/profile"
)

// maxSizes bounds the number of runs.
const maxSizes = 16

// readSizes makes the points to run at of what --vary says: the first value of
// each quantity together, then every other value with the rest at their first.
func readSizes(vary []string) ([]profile.Point, error) {
	base := profile.Point{}
	points := []profile.Point{base}
	var others []profile.Point
	for _, text := range vary {
		name, list, ok := strings.Cut(text, "=")
		if !ok {
			return nil, fmt.Errorf("--vary %s: write it like batch=2,3", text)
		}
		if _, twice := base[name]; twice {
			return nil, fmt.Errorf("--vary gives %s twice; put its values together: %s=2,3", name, name)
		}
		for i, value := range strings.Split(list, ",") {
			p, err := profile.ParsePoint(name + "=" + value)
			if err != nil {
				return nil, fmt.Errorf("--vary: %w", err)
			}
			if i == 0 {
				base[name] = p[name]
			} else if slices.ContainsFunc(others, func(o profile.Point) bool { return o[name] == p[name] }) || p[name] == base[name] {
				return nil, fmt.Errorf("--vary %s: %d is there twice", text, p[name])
			} else {
				others = append(others, p)
			}
		}
	}
	for _, o := range others {
		p := profile.Point{}
		for name, n := range base {
			p[name] = n
		}
		for name, n := range o {
			p[name] = n
		}
		points = append(points, p)
	}
	if len(points) > maxSizes {
		return nil, fmt.Errorf("--vary asks for %d runs; two or three values of each quantity are enough", len(points))
	}
	return points, nil
}

// place puts a size into the command: where it says {batch}, or into copies of
// the config files that hold the setting. It returns the words of the command.
func (p *profiling) place(at profile.Point, folder string) ([]string, []string, error) {
	words := slices.Clone(p.launch.Args)
	env := slices.Clone(p.launch.Env)
	bound := map[string]any{}
	for _, name := range at.Names() {
		hole, found := "{"+name+"}", false
		for _, list := range [][]string{words, env} {
			for i := range list {
				found = found || strings.Contains(list[i], hole)
				list[i] = strings.ReplaceAll(list[i], hole, strconv.FormatInt(at[name], 10))
			}
		}
		if !found {
			bound[name] = int(at[name])
		}
	}
	if len(bound) > 0 {
		return words, env, p.bind(words, bound, folder)
	}
	return words, env, nil
}

// bind writes settings into copies of the config files, and the copies' names
// into the command.
func (p *profiling) bind(words []string, want map[string]any, folder string) error {
	name := firstKey(want)
	project, err := p.project(words)
	if errors.Is(err, config.ErrNothing) {
		return fmt.Errorf("the command has no {%s}, and no config file here says the %s; put {%s} where its value goes, or name the file with --config", name, name, name)
	}
	if err != nil {
		return fmt.Errorf("the command has no {%s}, and %w", name, err)
	}
	plan, err := project.Change(want)
	if err != nil {
		return fmt.Errorf("the command has no {%s}, and %w", name, err)
	}
	changed := map[string]*doc.Document{}
	for _, e := range plan.Edits {
		d := changed[e.File]
		if d == nil {
			data, err := os.ReadFile(e.File)
			if err != nil {
				return fmt.Errorf("reading %s: %w", e.File, reason(err))
			}
			if d, err = doc.Open(e.File, data); err != nil {
				return err
			}
		}
		if changed[e.File], err = e.On(d); err != nil {
			return err
		}
	}
	for file, d := range changed {
		if err := replaceFile(words, file, d.Bytes(), folder); err != nil {
			return fmt.Errorf("%s holds %s, but %w; write {%s} into the command instead", file, name, err, name)
		}
	}
	return nil
}

// project is the config files that the options or else the command name, or
// those of the folder.
func (p *profiling) project(words []string) (*config.Project, error) {
	files := p.options.configs
	if len(files) == 0 {
		files = configsIn(words)
	}
	return config.Open(os.DirFS(".").(config.Files), ".", files...)
}

// configsIn are the config files that a command names.
func configsIn(words []string) []string {
	var out []string
	for _, w := range words {
		value := w[strings.LastIndex(w, "=")+1:]
		switch strings.ToLower(filepath.Ext(value)) {
		case ".yaml", ".yml", ".json", ".toml":
			if info, err := os.Stat(value); err == nil && info.Mode().IsRegular() && filepath.IsLocal(value) {
				out = append(out, filepath.ToSlash(filepath.Clean(value)))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func firstKey(m map[string]any) string {
	first := ""
	for k := range m {
		if first == "" || k < first {
			first = k
		}
	}
	return first
}

// replaceFile writes a copy of a config and has the command read that one.
func replaceFile(words []string, file string, data []byte, folder string) error {
	folder = filepath.Join(folder, "files")
	copied := filepath.Join(folder, filepath.Base(file))
	found := false
	for i, w := range words {
		prefix, value := "", w
		if k := strings.LastIndex(w, "="); k >= 0 {
			prefix, value = w[:k+1], w[k+1:]
		}
		if filepath.Clean(value) == filepath.Clean(file) {
			words[i], found = prefix+copied, true
		}
	}
	if !found {
		return fmt.Errorf("the command does not name that file")
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	return os.WriteFile(copied, data, 0o600)
}
