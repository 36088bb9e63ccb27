// SPDX-License-Identifier: Apache-2.0

package pattern

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFind(t *testing.T) {
	call := New(`(?m)^[^#\n]*\b(Trainer|Config)\((\w*)`, "Trainer(", "Config(")
	for text, want := range map[string][]string{
		"":               nil,
		"Trainers(a)":    nil,
		"# Trainer(a)\n": nil,
		"x = Trainer(a)": {"x = Trainer(a", "Trainer", "a"},
		"# Trainer(a)\n#Config(\n y = Config(b)\n": {" y = Config(b", "Config", "b"},
		"x = 1 # Trainer(a)\nTrainer(b)":           {"Trainer(b", "Trainer", "b"},
		"MyTrainer(a)\nz\nTrainer(b)":              {"Trainer(b", "Trainer", "b"},
	} {
		if diff := cmp.Diff(want, call.Find(text)); diff != "" {
			t.Errorf("%q: -want +got:\n%s", text, diff)
		}
		if call.In(text) != (want != nil) {
			t.Errorf("%q: In is %v", text, call.In(text))
		}
		if diff := cmp.Diff(call.Regexp().FindStringSubmatchIndex(text), call.Index(text)); diff != "" {
			t.Errorf("%q: -want +got:\n%s", text, diff)
		}
	}
}

func TestNothingIsCompiledWithoutItsWords(t *testing.T) {
	wrong := New(`(`, "word")
	if wrong.In("nothing of the kind") {
		t.Error("there is no match")
	}
	defer func() {
		if recover() == nil {
			t.Error("an invalid expression was compiled")
		}
	}()
	wrong.In("a word")
}
