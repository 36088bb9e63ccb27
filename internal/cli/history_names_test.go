// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/store"
)

func TestRunNames(t *testing.T) {
	for _, x := range []struct{ runs, want []string }{
		{[]string{"/opt/venv/bin/python main.py --batch-size 64"}, []string{"main.py"}},
		{
			[]string{"/v/bin/python /home/a/two_tower/main.py --batch-size {batch}", "/v/bin/python /home/a/gsa/main.py"},
			[]string{"two_tower/main.py", "gsa/main.py"},
		},
		{
			[]string{"python /a/one/src/train.py", "python /a/two/src/train.py", "python /a/two/src/train.py -x", "python /train.py"},
			[]string{"one/src/train.py", "two/src/train.py", "two/src/train.py", "/train.py"},
		},
		{
			[]string{"torchrun --nproc_per_node 2 /x/y/train.py", "python -m pkg.train", "uv run -q axolotl train c.yml", "/usr/bin/bash -c 'python /a/t.py'", ""},
			[]string{"y/train.py", "pkg.train", "axolotl train c.yml", "bash -c 'python /a/t.py'", ""},
		},
		{[]string{"bash -c 'echo \x1b[31m\nls'"}, []string{"bash -c 'echo [31m ls'"}},
	} {
		var runs []store.Run
		for _, m := range x.runs {
			runs = append(runs, store.Run{Model: m})
		}
		if diff := cmp.Diff(x.want, runNames(runs)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
	known := []store.Run{{Family: "llama", Model: "meta-llama/x/python a.py"}}
	if diff := cmp.Diff([]string{"meta-llama/x/python a.py"}, runNames(known)); diff != "" {
		t.Errorf("a model's own name (-want +got)\n%s", diff)
	}
}

func BenchmarkRunNames(b *testing.B) {
	var runs []store.Run
	for i := range 3000 {
		runs = append(runs, store.Run{Model: fmt.Sprintf("python /home/a/project%d/train.py --batch {batch}", i)})
	}
	for b.Loop() {
		runNames(runs)
	}
}
