// SPDX-License-Identifier: Apache-2.0

package pysrc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzParse checks that any input is parsed, or refused with a one-line error and its position, and that every tree
// can be walked.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("../../testdata/loops/*/*.py")
	if err != nil || len(files) == 0 {
		f.Fatalf("no files to begin with: %v", err)
	}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	for _, src := range []string{
		"match x:\n  case [1, *_] | {'a': b, **c} if d: pass\n  case E(f=-1j) as g: pass\n",
		"f'{a!r:>{w}}' rf\"{b = # c\n}\\{d}\" f'''{f'{'e'}'}'''",
		"type X[T: int = str, *Ts, **P] = T\nasync def f[T](a, /, b: T = 1, *, c, **d) -> e: return await g",
		"with (a as b, c): x = yield\ntry: pass\nexcept* E: raise F from G\n",
		"if x:\n\ty; \\\n  z\nelif w: del a, (b)\nelse: global q\n",
	} {
		f.Add([]byte(src))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		file, err := Parse("x.py", src)
		if err == nil {
			_ = dump(file)
			return
		}
		if text := err.Error(); !strings.HasPrefix(text, "x.py:") || strings.ContainsAny(text, "\n\r") {
			t.Errorf("not a one-line error with its position: %q", text)
		}
	})
}
