// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"slices"
	"testing"
)

// FuzzLoopWords checks that the words of a loop survive being written and read again.
func FuzzLoopWords(f *testing.F) {
	for _, text := range []string{`train.py`, `train.py --name "a b" --it's`, `'x "y" z' ""`, "a\tb\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words, err := loopWords(text)
		if err != nil {
			return
		}
		again, err := loopWords(LoopOf(words))
		if err != nil || !slices.Equal(words, again) {
			t.Errorf("%q: %q, then %q (%v)", text, words, again, err)
		}
	})
}

// FuzzNotebook checks that reading a notebook never panics.
func FuzzNotebook(f *testing.F) {
	f.Add([]byte(`{"cells": [{"cell_type": "code", "source": ["%%time\n", "x = !ls\n", "!pip install x"]}, {"cell_type": "code", "source": 3}]}`))
	f.Add([]byte("!ls\nif x:\n    %time y\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		for _, name := range []string{"a.ipynb", "a.py"} {
			if file, err := parsePython(name, src); err == nil && file == nil {
				t.Error("got neither a file nor an error")
			}
		}
	})
}

func TestNotebookLines(t *testing.T) {
	f, err := parsePython("a.ipynb", []byte(`{"cells": [{"cell_type": "markdown", "source": "text"},
		{"cell_type": "code", "source": ["%matplotlib inline\n", "x = !ls"]}, {"cell_type": "code", "source": "%%bash\nls"},
		{"cell_type": "code", "source": "y = 1"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(f.Body); n != 3 || f.Body[2].At().Line != 4 {
		t.Errorf("%d statements, the last on line %d", n, f.Body[n-1].At().Line)
	}
}
