// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"path"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/tree"
	"snug/internal/pattern"
)

// A program's argument parser may be in another module of the project. The flags that the module declares are then the
// program's own.

// importsOf matches an import at the beginning of a line: the module of "from module import names", the names, and the
// modules of "import modules".
var importsOf = pattern.New(`(?m)^(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+\(?([\w, \t]+)|import[ \t]+([\w., \t]+))`)

const (
	maxImported = 64 // places of the project's modules that are searched per program
	maxParsers  = 4  // modules whose flags count as the program's
)

// withParsers returns the layers of a program: the program itself and the imported modules with parsers.
func withParsers(files Files, name string, d *doc.Document) []tree.Layer {
	out := []tree.Layer{{File: name, Doc: d}}
	if d.Format() != doc.Python {
		return out
	}
	tried := map[string]bool{name: true}
	for _, m := range importsOf.Regexp().FindAllStringSubmatch(d.Text(), -1) {
		for _, at := range moduleFiles(path.Dir(name), m) {
			if tried[at] || len(tried) > maxImported || len(out) > maxParsers {
				continue
			}
			tried[at] = true
			if parser := parserAt(files, at); parser != nil {
				out = append(out, tree.Layer{File: at, Doc: parser, FlagsOnly: true})
			}
		}
	}
	return out
}

// moduleFiles returns the possible paths of imported modules: first in the program's folder, as in Python, then in the
// folders above it, because a package may be started from any of them.
func moduleFiles(folder string, m []string) (out []string) {
	add := func(module string) {
		dots := len(module) - len(strings.TrimLeft(module, "."))
		file := strings.ReplaceAll(module[dots:], ".", "/") + ".py"
		if dots > 0 {
			file = path.Join(folder, strings.Repeat("../", dots-1), file)
		}
		for at := folder; dots == 0 && at != "." && at != "/"; at = path.Dir(at) {
			out = append(out, path.Join(at, file))
		}
		if file = path.Clean(file); !strings.HasPrefix(file, "../") {
			out = append(out, file)
		}
	}
	if m[1] == "" {
		for module := range strings.SplitSeq(m[3], ",") {
			if module, _, _ = strings.Cut(strings.TrimSpace(module), " "); module != "" {
				add(module)
			}
		}
		return out
	}
	if strings.Trim(m[1], ".") != "" {
		add(m[1])
	}
	for name := range strings.SplitSeq(m[2], ",") {
		if name, _, _ = strings.Cut(strings.TrimSpace(name), " "); name != "" {
			add(strings.TrimSuffix(m[1], ".") + "." + name)
		}
	}
	return out
}

// parserAt returns the module in a file if it declares flags and does not train; otherwise nil.
func parserAt(files Files, name string) *doc.Document {
	text, err := files.ReadFile(name)
	imported, _, _ := strings.Cut(string(text), "\nif __name__ ==") // what follows is not executed when the module is imported
	if err != nil || len(text) > largestFile || !strings.Contains(imported, "add_argument(") || trainsHere.In(string(text)) {
		return nil
	}
	d, err := doc.OpenAs(name, doc.Python, text)
	if err != nil {
		return nil
	}
	return d
}
