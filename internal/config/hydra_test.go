// SPDX-License-Identifier: Apache-2.0

package config

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"snug/internal/config/configtest"
)

// A value is overridden under its name in the composed tree, whichever file defines it.
func TestOverride(t *testing.T) {
	files := fstest.MapFS{
		"conf/config.yaml":     {Data: []byte("defaults:\n  - data: text\n  - _self_\ntrain:\n  batch_size: ${data.batch_size}\n")},
		"conf/data/text.yaml":  {Data: []byte("batch_size: 8\nmax_length: 128\n")},
		"plain/config.yaml":    {Data: []byte("batch_size: 8\n")},
		"loaders/train.yaml":   {Data: []byte("loaders:\n  - batch_size: 4\n")},
		"awkward/config.yaml":  {Data: []byte("the loader:\n  batch_size: 4\n")},
		"global/config.yaml":   {Data: []byte("defaults:\n  - exp: a\n")},
		"global/exp/a.yaml":    {Data: []byte("# @package _global_\ntraining:\n  batch_size: 4\n")},
		"mounted/config.yaml":  {Data: []byte("defaults:\n  - data@train.set: a\n")},
		"mounted/data/a.yaml":  {Data: []byte("batch_size: 4\n")},
		"mounted/data/b.yaml":  {Data: []byte("batch_size: 4\n")},
		"mounted/unused.yaml":  {Data: []byte("epochs: 4\n")},
		"mounted/other/c.yaml": {Data: []byte("epochs: 4\n")},
	}
	got := map[string]string{}
	for _, main := range []string{"conf/config.yaml", "plain/config.yaml", "loaders/train.yaml", "awkward/config.yaml", "global/config.yaml", "mounted/config.yaml"} {
		project, err := Open(files, ".", main)
		if err != nil {
			t.Fatal(main, err)
		}
		plan, err := project.Change(configtest.Values(map[string]any{"batch": 2}))
		if err != nil {
			t.Fatal(main, err)
		}
		for _, e := range plan.Edits {
			got[main] += project.Override(e) + ";"
		}
	}
	want := map[string]string{
		"conf/config.yaml": "data.batch_size=2;", "plain/config.yaml": "batch_size=2;", "loaders/train.yaml": "loaders.0.batch_size=2;",
		"awkward/config.yaml": ";", "global/config.yaml": "training.batch_size=2;", "mounted/config.yaml": "train.set.batch_size=2;",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
