// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"path"
	"slices"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/pattern"
)

// A Hydra script's decorator and Hydra's own flags name the file that composition starts from. NeMo's hydra_runner
// takes the same arguments.

var (
	hydraCall = pattern.New(`(?m)^[^#\n]*(?:\bhydra\.main|\bhydra_runner|@main)\s*\(([^)]*)`, "hydra.main", "hydra_runner", "@main")
	hydraWord = pattern.New(`^(?:(\w+)\s*=\s*)?r?(?:"([^"\n]*)"|'([^'\n]*)')$`)
)

// HydraMain returns the file that Hydra starts from, or "" if the program computes it; ok is false for a
// script that does not use Hydra. words is the command, whose flags take precedence over the script.
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

// hydraFlag returns the value of one of Hydra's flags in a command or, failing that, in the script.
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

// hydraConfig returns the configuration that a program without settings of its own reads with Hydra; nil if there is none.
func (p *Found) hydraConfig(name string) *Source {
	data, err := p.files.ReadFile(name)
	if format, _ := doc.FormatOf(name, data); err != nil || format != doc.Python {
		return nil
	}
	file, _ := HydraMain(name, data, nil)
	if file == "" || path.IsAbs(file) || strings.HasPrefix(file, "..") {
		return nil
	}
	s, _, err := readSource(p.files, file, false)
	if err != nil {
		return nil
	}
	return s
}
