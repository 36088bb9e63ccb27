// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"path"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/tree"
)

// A program may have its own names for its flags. What it does with them says what they are: --bsz is the batch if the
// program has DataLoader(batch_size=args.bsz).

// renamed returns the names that a program has for its flags, with the usual names of those settings: its own if the
// file is a program, and those of the programs in the folder that it starts if it is a shell script.
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

// programAt returns a program that a script names; nil if it is not in the project or cannot be parsed.
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

// addNames adds the names of a program. A name that two programs use for different settings is left out.
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

// usualNames returns what a program does with its flags, by their names as they are compared.
func usualNames(d *doc.Document) map[string]string {
	out := map[string]string{}
	for flag, use := range d.Passed() {
		parts := tree.NameParts(doc.Path{flag})
		out[parts[len(parts)-1]] = strings.ToLower(use)
	}
	return out
}

// saysSetting reports whether a word that also means other things names a setting here: in a shell script it is one as
// a flag, in a program also as a constant in capitals and as a field of a class.
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
