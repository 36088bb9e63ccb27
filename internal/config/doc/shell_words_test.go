// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommands(t *testing.T) {
	d, err := Open("run.sh", []byte("N=4 torchrun \\\n  train.py 'a b.yaml' # c\ncd x && tune run $Y\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Command{
		{Line: 1, Words: []string{"torchrun", "train.py", "a b.yaml"}, Lines: []int{1, 2, 2}, Keys: map[string]bool{}, Environment: map[string]bool{"N": true}, Passes: map[string]bool{}},
		{Line: 3, Words: []string{"tune", "run", "$Y"}, Lines: []int{3, 3, 3}, Keys: map[string]bool{}, Environment: map[string]bool{}, Passes: map[string]bool{}, Unknown: []UnknownWord{{"$Y", "Y is not set in the script"}}},
	}
	if diff := cmp.Diff(want, d.Commands()); diff != "" {
		t.Error(diff)
	}
	if d, err = Open("a.yaml", []byte("a: 1\n")); err != nil || d.Commands() != nil {
		t.Error(err, d.Commands())
	}
}
