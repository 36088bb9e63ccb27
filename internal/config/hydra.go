// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"snug/internal/config/change"
	"snug/internal/config/doc"
	"snug/internal/pattern"
)

// Hydra as the command line uses it. How Hydra's files are composed: projects/hydra_compose.go.
//
// A script under @hydra.main accepts any value of its configuration as a word of the command,
// data.batch_size=2, which takes precedence over the files. The decorator and Hydra's own flags name the
// file that it starts from.

var (
	hydraCall = pattern.New(`(?m)^[^#\n]*(?:\bhydra\.main|@main)\s*\(([^)]*)`, "hydra.main", "@main")
	hydraWord = pattern.New(`^(?:(\w+)\s*=\s*)?r?(?:"([^"\n]*)"|'([^'\n]*)')$`)
)

// HydraMain returns the file from which Hydra starts, or "" if only the program itself knows; ok is false
// for a script that does not use Hydra. words is the command, whose flags take precedence over the
// script.
func HydraMain(script string, text []byte, words []string) (file string, ok bool) {
	m := hydraCall.Find(string(text))
	if m == nil || !strings.Contains(string(text), "hydra") {
		return "", false
	}
	given := hydraArguments(m[1])
	folder := hydraFlag(words, given["config_path"], "--config-path", "-cp")
	name := hydraFlag(words, given["config_name"], "--config-name", "-cn")
	if folder == "?" || name == "?" || name == "" || strings.Contains(folder, "://") {
		return "", true
	}
	if ext := path.Ext(name); ext != ".yaml" && ext != ".yml" {
		name += ".yaml"
	}
	if path.IsAbs(folder) {
		return path.Join(folder, name), true
	}
	return path.Join(path.Dir(script), folder, name), true
}

// hydraArguments reads the decorator's config_path and config_name, given by name or by position. An
// argument that the program computes is "?".
func hydraArguments(text string) map[string]string {
	out := map[string]string{}
	order := []string{"config_path", "config_name"}
	for i, arg := range strings.Split(text, ",") {
		arg = strings.TrimSpace(arg)
		name, value, named := strings.Cut(arg, "=")
		if name = strings.TrimSpace(name); !named {
			if i >= len(order) || arg == "" {
				continue
			}
			name, value = order[i], arg
		}
		m := hydraWord.Find(arg)
		switch {
		case m != nil:
			out[name] = m[2] + m[3]
		case strings.TrimSpace(value) == "None":
		default:
			out[name] = "?"
		}
	}
	return out
}

// hydraFlag returns the value of one of Hydra's flags in a command, or else in the script.
func hydraFlag(words []string, inScript string, names ...string) string {
	for i, w := range words {
		flag, value, glued := strings.Cut(w, "=")
		switch {
		case !slices.Contains(names, flag):
		case glued:
			return value
		case i+1 < len(words):
			return words[i+1]
		}
	}
	return inScript
}

// hydraKey matches a key that Hydra's grammar takes without quotes.
var hydraKey = pattern.New(`^[\w-]+$`)

// Override returns an edit as a word on Hydra's command line, data.batch_size=2; it returns "" if the
// value is not in the main tree or its name cannot be written.
func (p *Project) Override(e change.Edit) string {
	if p.Primary == nil {
		return ""
	}
	for _, l := range slices.Backward(p.Primary.Tree.Layers) {
		key := l.Mount.Join(e.Path...)
		if l.File != e.File || slices.ContainsFunc(key, func(k string) bool { return !hydraKey.In(k) }) {
			continue
		}
		found, err := p.Primary.Tree.Stands(key)
		switch {
		case err == nil && found.File == e.File:
			return fmt.Sprintf("%s=%v", dotted(key), e.Value)
		case err != nil && e.Insert:
			return fmt.Sprintf("++%s=%v", dotted(key), e.Value)
		}
	}
	return ""
}

func dotted(p doc.Path) string { return strings.Join(p, ".") }

// IsHydra reports whether the settings are in a tree that Hydra composes.
func (p *Project) IsHydra() bool { return p.Primary != nil && p.Primary.System.Composes }
