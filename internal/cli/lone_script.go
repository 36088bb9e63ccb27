// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"path/filepath"
	"strings"
)

// trainingCalls lists calls; every training script contains at least one of them.
var trainingCalls = [][]byte{[]byte(".backward("), []byte(".train("), []byte(".fit(")}

// loneLoop returns the only script in the folder that trains a model, or else the only notebook, as a loop; "" if there
// is none, or several.
func (f *projectFlags) loneLoop() string {
	if script := f.loneScript(); script != "" {
		return script
	}
	return f.lone(".ipynb")
}

// loneScript returns the only script in the folder that trains a model; "" if there is none, or several.
func (f *projectFlags) loneScript() string { return f.lone(".py") }

// lone returns the only file with an extension in the folder that trains a model; "" if there is none, or several.
func (f *projectFlags) lone(ext string) string {
	found := ""
	in := projectFiles{f.folder}
	entries, err := in.ReadDir(".")
	if err != nil {
		return ""
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ext || strings.ContainsAny(e.Name(), " \t'\"") || !e.Type().IsRegular() || !in.trains(e.Name()) {
			continue
		}
		if found != "" {
			return ""
		}
		found = filepath.Join(f.folder, e.Name())
	}
	return found
}

// trains reports whether a Python file looks like a script that trains a model.
func (p projectFiles) trains(name string) bool {
	text, err := p.ReadFile(name)
	if err != nil || !bytes.Contains(text, []byte("import")) {
		return false
	}
	for _, call := range trainingCalls {
		if bytes.Contains(text, call) {
			return true
		}
	}
	return false
}
