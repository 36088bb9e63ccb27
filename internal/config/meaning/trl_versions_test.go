// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestTRLLoss(t *testing.T) {
	for name, c := range map[string]struct {
		installed, file string
		want            any
		warning         bool
	}{
		"the newest":           {"", "", "trl", false},
		"installed":            {"1.15.0", "", "trl", false},
		"in other chunks":      {"1.14.2", "", "trl", true},
		"whole, said so":       {"1.14.2", "loss_type: nll\n", nil, false},
		"chunks not default":   {"1.5.1", "", nil, false},
		"chunks by setting":    {"1.5.1", "loss_type: chunked_nll\n", "trl", true},
		"before there were":    {"1.3.0", "", nil, false},
		"long before":          {"0.29.1", "", nil, false},
		"of the probabilities": {"", "loss_type: dft\n", "trl", false},
	} {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{"sft.yaml": {Data: []byte("model_name_or_path: gpt2\nper_device_train_batch_size: 2\nuse_peft: false\n" + c.file)}}
			if c.installed != "" {
				files[".venv/lib/python3.12/site-packages/trl-"+c.installed+".dist-info/METADATA"] = &fstest.MapFile{}
			}
			p := opened(t, files)
			fields := p.Fields()
			if fields["loss"] != c.want {
				t.Errorf("loss %v, want %v", fields["loss"], c.want)
			}
			if warnings := strings.Join(p.Warnings(fields), "\n"); strings.Contains(warnings, "chunks of 256 tokens") != c.warning {
				t.Errorf("warnings %q", warnings)
			}
		})
	}
}
