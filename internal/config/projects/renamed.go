// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"path"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/tree"
)

// A program may have its own names for its flags. The program's use of a flag shows what it is: --bsz is the batch if
// the program contains DataLoader(batch_size=args.bsz).

// renamed maps a program's own flag names to the usual names of those settings. If the file is a shell script, it
// returns the names of the programs in the folder that the script starts.
func renamed(files Files, name string, d *doc.Document) map[string]string {
	switch d.Format() {
	case doc.Python:
		return usualNames(d)
	case doc.Shell:
		out := map[string]string{}
		for _, c := range d.Commands() {
			for _, w := range c.Words {
				if strings.HasSuffix(w, ".py") {
					addNames(out, programAt(files, name, w))
				}
			}
		}
		return out
	}
	return nil
}

// programAt returns a program that a script names, or nil if it is not in the project or cannot be parsed.
func programAt(files Files, script, name string) *doc.Document {
	for _, at := range placesOf(script, name) {
		if path.IsAbs(at) || strings.HasPrefix(at, "..") || strings.ContainsAny(at, "$ ") {
			continue
		}
		if text, err := files.ReadFile(at); err == nil && len(text) <= largestFile {
			d, err := doc.OpenAs(at, doc.Python, text)
			if err != nil {
				return nil
			}
			return d
		}
	}
	return nil
}

// addNames adds the names of a program. A name that two programs use for different settings is omitted.
func addNames(out map[string]string, d *doc.Document) {
	if d == nil {
		return
	}
	for flag, usual := range usualNames(d) {
		if before, there := out[flag]; there && before != usual {
			usual = ""
		}
		out[flag] = usual
	}
}

// usualNames returns what a program uses its flags for, by their normalized names.
func usualNames(d *doc.Document) map[string]string {
	out := map[string]string{}
	for flag, use := range d.Passed() {
		parts := tree.NameParts(doc.Path{flag})
		out[parts[len(parts)-1]] = strings.ToLower(use)
	}
	return out
}

// saysSetting reports whether an ambiguous word is a setting here: in a shell script if it is a flag; in a program
// also if it is a constant in capitals or a class field.
func saysSetting(t tree.Tree, v tree.Value) bool {
	last := v.Path[len(v.Path)-1]
	flag := strings.HasPrefix(last, "-")
	switch t.Layers[0].Doc.Format() {
	case doc.Shell:
		return flag
	case doc.Python:
	default:
		return true
	}
	switch {
	case flag, last == strings.ToUpper(last):
		return true
	case len(v.Path) < 2:
		return false
	}
	around := v.Path[len(v.Path)-2]
	return around[:1] != strings.ToLower(around[:1]) && !IsComputed(v.Value)
}
