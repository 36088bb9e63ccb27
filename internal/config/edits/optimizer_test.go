// SPDX-License-Identifier: Apache-2.0

package edits

import (
	"strings"
	"testing"
	"testing/fstest"

	"snug/internal/config/configtest"
)

const tuneModel = "model:\n  _component_: torchtune.models.llama3_2.llama3_2_1b\nbatch_size: 4\noptimizer:\n  _component_: torch.optim.AdamW\n"

const lightningRun = "seed_everything: 1\ntrainer:\n  max_epochs: 1\ndata:\n  class_path: d.D\n  init_args:\n    batch_size: 16\n"

const titanRun = "[model]\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\n[optimizer]\n"

const foundryRun = "global_train_batch_size: 8\ndevice_train_microbatch_size: 4\nmax_seq_len: 512\noptimizer:\n  name: "

// TestFused checks that in every system the optimizer's fused kernel is written with one of the system's
// keys, or refused.
func TestFused(t *testing.T) {
	tests := []struct {
		name, file, before string
		now                string // the optimizer that is read
		add                string // a line that must be present afterwards
		err                string // the error
	}{
		{"torchtune", "a.yaml", tuneModel, "adamw", "  fused: true", ""},
		{"torchtune, off", "a.yaml", tuneModel + "  fused: False\n", "adamw", "  fused: True", ""},
		{"torchtune, Adam", "a.yaml", strings.Replace(tuneModel, "AdamW", "Adam", 1), "adam", "  fused: true", ""},
		{"torchtune, on", "a.yaml", tuneModel + "  fused: True\n", "adamw-fused", "  fused: True", ""},
		{"torchtune, 8 bits", "a.yaml", strings.Replace(tuneModel, "torch.optim.AdamW", "bitsandbytes.optim.PagedAdamW8bit", 1), "adamw-8bit", "", "cannot be set to"},
		{"Lightning", "a.yaml", lightningRun + "optimizer:\n  class_path: torch.optim.AdamW\n  init_args:\n    lr: 1e-3\n", "adamw", "    fused: true", ""},
		{"Lightning, short", "a.yaml", lightningRun + "optimizer:\n  class_path: AdamW\n", "adamw", "    fused: true", ""},
		{"Lightning, clipping", "a.yaml", strings.Replace(lightningRun, "max_epochs: 1", "max_epochs: 1\n  gradient_clip_val: 1.0", 1) +
			"optimizer:\n  class_path: torch.optim.AdamW\n", "adamw", "", "refuses to clip"},
		{"Hydra", "a.yaml", "defaults:\n  - _self_\nbatch_size: 4\nmodel:\n  optimizer:\n    _target_: torch.optim.AdamW\n", "adamw", "    fused: true", ""},
		{"own, a class", "a.yaml", "batch_size: 4\noptimizer:\n  _target_: torch.optim.AdamW\n", "adamw", "  fused: true", ""},
		{"torchtitan", "a.toml", titanRun + "name = \"AdamW\"\n", "adamw-fused", "name = \"AdamW\"", ""},
		{"torchtitan, foreach", "a.toml", titanRun + "name = \"AdamW\"\nimplementation = \"foreach\"\n", "adamw", `implementation = "fused"`, ""},
		{"torchtitan, no name", "a.toml", titanRun + "implementation = \"for-loop\"\n", "adamw-loop", `implementation = "fused"`, ""},
		{"Composer", "a.yaml", foundryRun + "decoupled_adamw\n", "adamw-loop", "", "cannot be set to"},
		{"Composer, adamw", "a.yaml", foundryRun + "adamw\n", "adamw", "", "cannot be set to"},
		{"kohya", "a.toml", "train_batch_size = 4\noptimizer_type = \"AdamW\"\n", "adamw", "", "cannot be set to"},
		{"own", "a.yaml", "batch_size: 4\noptimizer: AdamW\n", "adamw", "", "the values that your program accepts"},
		{"own flag", "a.sh", "python t.py --batch-size 4 --optimizer adamw\n", "adamw", "", "the values that your program accepts"},
		{"trainer's flag", "a.sh", "python t.py --per_device_train_batch_size 4 --optim adamw_torch\n", "adamw", "python t.py --per_device_train_batch_size 4 --optim adamw_torch_fused", ""},
		{"trainer in code", "a.py", "a = TrainingArguments(per_device_train_batch_size=4, optim=\"adamw_torch\")\n", "adamw", `a = TrainingArguments(per_device_train_batch_size=4, optim="adamw_torch_fused")`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := fstest.MapFS{tt.file: &fstest.MapFile{Data: []byte(tt.before)}}
			p := opened(t, files)
			if got := p.ValueOrDefault("optimizer"); got != tt.now {
				t.Errorf("reads %v, want %s", got, tt.now)
			}
			class, _, _ := strings.Cut(tt.now, "-")
			plan, err := New(p, configtest.Values(map[string]any{"optimizer": class + "-fused"}))
			if tt.err != "" || err != nil {
				if err == nil || tt.err == "" || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want %q", err, tt.err)
				}
				return
			}
			after, err := configtest.Applied(files, plan.Edits, plan.Creates)
			if err != nil {
				t.Fatal(err)
			}
			if text := string(after[tt.file].Data); !strings.Contains(text+"\n", tt.add+"\n") {
				t.Errorf("wrote\n%s\nwithout %q", text, tt.add)
			}
		})
	}
}

// TestKernelLeaves replaces optimizers that have a choice of kernels with ones that do not.
func TestKernelLeaves(t *testing.T) {
	p := opened(t, fstest.MapFS{"a.yaml": &fstest.MapFile{Data: []byte(tuneModel + "  fused: True\n")}})
	if _, err := New(p, configtest.Values(map[string]any{"optimizer": "adamw-8bit"})); err == nil || !strings.Contains(err.Error(), "a.yaml:6: optimizer.fused") {
		t.Errorf("error %v: bitsandbytes' optimizers do not accept fused", err)
	}
}
