// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"path/filepath"
	"strings"
)

// trainingCalls are calls. A training script contains at least one of them.
var trainingCalls = [][]byte{[]byte(".backward("), []byte(".train("), []byte(".fit(")}

// loneScript returns the only script in the folder that trains a model, as a loop; "" if there is none, or several.
func (f *projectFlags) loneScript() string {
	found := ""
	in := projectFiles{f.folder}
	entries, err := in.ReadDir(".")
	if err != nil {
		return ""
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".py") || strings.ContainsAny(e.Name(), " \t'\"") || !e.Type().IsRegular() || !in.trains(e.Name()) {
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
