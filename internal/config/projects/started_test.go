// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// TestStartedSeveral checks that if several scripts start one file each, the user must choose.
func TestStartedSeveral(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	_, err := Find(fstest.MapFS{
		"a.sh": file("axolotl train a.yml\n"), "a.yml": file("base_model: gpt2\nmicro_batch_size: 2\n"),
		"b.sh": file("axolotl train b.yml\n"), "b.yml": file("base_model: gpt2\nmicro_batch_size: 4\n"),
	}, ".")
	if err == nil || !strings.Contains(err.Error(), "name the one to use: --config-path a.yml") {
		t.Errorf("two scripts start one file each: %v", err)
	}
}

func TestPlaced(t *testing.T) {
	for command, want := range map[string][]string{
		"axolotl train a.yml":                          {"a.yml"},
		"torchrun --standalone train.py a.yaml":        {"train.py", "a.yaml"},
		"python train.py --data d.yaml --lr=1 e.yaml":  {"train.py", "e.yaml"},
		"accelerate launch -m axolotl.cli.train a.yml": {"a.yml"},
		"a.py": nil,
	} {
		if diff := cmp.Diff(want, placed(strings.Fields(command))); diff != "" {
			t.Errorf("%s: %s", command, diff)
		}
	}
}
