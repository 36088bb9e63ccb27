// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNotebook checks that cells form one program, that each finding names its cell and line, and that IPython
// lines are skipped.
func TestNotebook(t *testing.T) {
	src := notebookOf(t,
		[2]string{"markdown", "# A title"},
		[2]string{"code", "%pip install torch \\\n    --upgrade\nimport torch\n!nvidia-smi\ntotal = 0"},
		[2]string{"code", "%%bash\nrm -rf {x"},
		[2]string{"code", "for batch in loader:\n    loss = model(batch).loss\n    loss.backward()\n    %time optimizer.step()\n    optimizer.step()\n    total += loss"},
	)
	found, err := Source("a.ipynb", src, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a.ipynb:cell 4:6:5: SNG102 total sums losses with their graphs, which keeps the graphs of all steps; add loss.item() or loss.detach()"}
	var got []string
	for _, f := range found {
		if f.Rule == "SNG102" {
			got = append(got, f.String())
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestNotebookErrors(t *testing.T) {
	broken := notebookOf(t, [2]string{"code", "x = 1\n"}, [2]string{"code", "a = 1\nfor"})
	for _, c := range []struct{ src, want string }{
		{string(broken), "a.ipynb:cell 2:2:4: expected"},
		{"[]", "a.ipynb: this is not a Jupyter notebook"},
		{"{", "a.ipynb: this is not a Jupyter notebook"},
	} {
		_, err := Source("a.ipynb", []byte(c.src), Options{})
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%.40s: %v, want %s", c.src, err, c.want)
		}
	}
}

// notebookOf returns a notebook with cells, each given as a kind and a source.
func notebookOf(t *testing.T, cells ...[2]string) []byte {
	t.Helper()
	var list []map[string]any
	for _, c := range cells {
		list = append(list, map[string]any{"cell_type": c[0], "source": strings.SplitAfter(c[1], "\n")})
	}
	src, err := json.Marshal(map[string]any{"cells": list})
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// TestEncodings checks that declared Latin-1 is read, and that other encodings are refused with a one-line error.
func TestEncodings(t *testing.T) {
	const amp = "import torch\nx = torch.cuda.amp.GradScaler()\n"
	for _, c := range []struct{ name, src, wrong string }{
		{"declared", "# -*- coding: latin-1 -*-\n# caf\xe9\n" + amp, ""},
		{"with a byte order mark", "\ufeff" + amp, ""},
		{"not declared", "# caf\xe9\n" + amp, "x.py:1:6: the file is not UTF-8"},
		{"binary", "\x7fELF\x00\x00", "x.py: this is a binary file, not Python source"},
		{"Windows lines", strings.ReplaceAll(amp, "\n", "\r\n"), ""},
	} {
		found, err := Source("x.py", []byte(c.src), Options{})
		if c.wrong != "" {
			if err == nil || err.Error() != c.wrong {
				t.Errorf("%s: %v, want %s", c.name, err, c.wrong)
			}
			continue
		}
		if err != nil || len(found) != 1 {
			t.Errorf("%s: %v %v", c.name, found, err)
		}
	}
}

// TestFix checks that only the intended bytes change.
func TestFix(t *testing.T) {
	const loop = "for b in loader:\n    loss = model(b).loss\n    loss.backward()\n    optimizer.step()\n    optimizer.zero_grad()\n"
	for _, c := range []struct{ name, src, want string }{
		{"autocast", "import torch\nwith torch.cuda.amp.autocast():  # é\n    x\n", "import torch\nwith torch.amp.autocast(\"cuda\"):  # é\n    x\n"},
		{"with arguments", "import torch\ns = torch.cuda.amp.GradScaler( enabled=a)\r\n", "import torch\ns = torch.amp.GradScaler(\"cuda\",  enabled=a)\r\n"},
		{"a sum", "import torch\nt = 0\n" + loop + "    t += loss # x\n", "import torch\nt = 0\n" + loop + "    t += loss.item() # x\n"},
		{"a variable", "import os\nos.environ['PYTORCH_CUDA_ALLOC_CONFIG'] = 'max_split_size_mb:64'\nimport torch\n", "import os\nos.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'max_split_size_mb:64'\nimport torch\n"},
		{"an imported name is left", "from torch.cuda.amp import autocast\nwith autocast(): x\n", ""},
		{"arguments on the next line are left", "import torch\nwith torch.cuda.amp.autocast(\n    a): x\n", ""},
		{"an expression is left", "import torch\nt = 0\n" + loop + "    t += loss.mean()\n", ""},
	} {
		found, err := Source("x.py", []byte(c.src), Options{})
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v %v", c.name, found, err)
		}
		got, n := Fix("x.py", []byte(c.src), found)
		want := c.want
		if want == "" {
			want = c.src
		}
		if string(got) != want || n > 0 != (c.want != "") {
			t.Errorf("%s: %d repairs\n%q\nwant\n%q", c.name, n, got, want)
		}
		again, _ := Source("x.py", got, Options{})
		if _, n := Fix("x.py", got, again); n > 0 {
			t.Errorf("%s: a second run fixes %d more", c.name, n)
		}
	}
}

// Files that are too large to be hand-written are skipped, with a message.
func TestGeneratedFiles(t *testing.T) {
	functions := "import torch\n"
	for i := range mostFunctions + 1 {
		functions += fmt.Sprintf("def f%d(): pass\n", i)
	}
	calls := "import torch\ndef table():\n" + strings.Repeat("    g()\n", mostCalls+1)
	for name, c := range map[string]struct{ src, want string }{
		"functions": {functions, "gen.py: not checked: it has 3001 functions, more than the 3000 that a hand-written file may have"},
		"calls":     {calls, "gen.py: not checked: table has 5001 calls, more than the 5000 that a hand-written function may have"},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := Source("gen.py", []byte(c.src), Options{})
			if err == nil || err.Error() != c.want || !errors.As(err, &SkippedError{}) || found != nil {
				t.Errorf("%v, %d findings; want %s", err, len(found), c.want)
			}
		})
	}
}
