// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"snug/internal/config/projects"

	"github.com/google/go-cmp/cmp"
)

// TestLoRAOf checks what turning LoRA on would mean for runs without it.
func TestLoRAOf(t *testing.T) {
	for name, x := range map[string]struct {
		file, text string
		want       LoRA
		warnings   int
	}{
		"trl":            {"sft.yaml", "per_device_train_batch_size: 2\nmax_length: 64\n", LoRA{PEFT: true, Precision: "amp-bf16"}, 0},
		"trl, bf16":      {"sft.yaml", "per_device_train_batch_size: 2\nmax_length: 64\ndtype: bfloat16\n", LoRA{PEFT: true, Weights: "bf16", Precision: "amp-bf16"}, 0},
		"trl, no amp":    {"sft.yaml", "per_device_train_batch_size: 2\nmax_length: 64\ndtype: float16\nbf16: false\n", LoRA{PEFT: true, Weights: "fp16", Precision: "fp16"}, 0},
		"axolotl":        {"a.yml", "base_model: x\nmicro_batch_size: 2\nbf16: true\n", LoRA{PEFT: true, Weights: "bf16", Precision: "amp-bf16"}, 1},
		"axolotl, flash": {"a.yml", "base_model: x\nmicro_batch_size: 2\nbf16: true\nflash_attention: true\n", LoRA{PEFT: true, Weights: "bf16", Precision: "amp-bf16"}, 0},
		"axolotl, lora":  {"a.yml", "base_model: x\nmicro_batch_size: 2\nadapter: lora\nlora_r: 8\n", LoRA{PEFT: true, Weights: "bf16", Precision: "amp-bf16"}, 1},
		"axolotl, own": {"a.yml", "base_model: x\nmicro_batch_size: 2\nadapter: lora\nlora_r: 8\nlora_mlp_kernel: false\n",
			LoRA{PEFT: true, Weights: "bf16", Precision: "amp-bf16"}, 0},
		"llama-factory": {"l.yaml", "model_name_or_path: x\nfinetuning_type: full\nper_device_train_batch_size: 2\nfp16: true\n", LoRA{PEFT: true, Weights: "saved", Precision: "amp-fp16"}, 0},
		"made in code": {"train.py", "model = get_peft_model(model, LoraConfig(r=8))\nargs = TrainingArguments(per_device_train_batch_size=2)\n",
			LoRA{PEFT: true, Weights: "saved"}, 0}, // the script is followed, including its adapters
		"in a comment": {"train.py", "# model = get_peft_model(model)\nargs = TrainingArguments(per_device_train_batch_size=2)\n",
			LoRA{PEFT: true, Weights: "saved"}, 0},
		"not spread":     {"a.yaml", "per_device_train_batch_size: 2\nfsdp: full_shard\n", LoRA{PEFT: true, Weights: "saved"}, 1},
		"spread by none": {"a.yaml", "per_device_train_batch_size: 2\nfsdp: ''\n", LoRA{PEFT: true, Weights: "saved"}, 0},
		"nanogpt":        {"train.py", "block_size = 64\nbatch_size = 4\ngradient_accumulation_steps = 2\ndtype = 'bfloat16'\n", LoRA{Precision: "amp-bf16"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := opened(t, fstest.MapFS{x.file: {Data: []byte(x.text)}})
			if diff := cmp.Diff(x.want, p.LoRA()); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if got := p.Warnings(p.Fields()); len(got) != x.warnings {
				t.Errorf("warnings %q", got)
			}
		})
	}
}

// TestAdaptersOfProgram checks that the rank and layers of a program's LoraConfig are found for the script that starts
// it: as its flags under their own names, as their defaults, and as literals in the call.
func TestAdaptersOfProgram(t *testing.T) {
	const start = "python a.py --model_name_or_path gpt2 --per_device_train_batch_size 2 "
	const fields = "@dataclass\nclass Own:\n    bottleneck: int = field(default=8)\n    parts: list = field(default_factory=lambda: ['q_proj'])\n"
	for name, x := range map[string]struct{ flags, program, want string }{
		"own flags":      {"--use_peft --bottleneck 4 --parts k_proj v_proj\n", fields + "c = LoraConfig(r=own.bottleneck, target_modules=own.parts)\n", "4 [k_proj v_proj]"},
		"their defaults": {"--use_peft\n", fields + "c = LoraConfig(r=own.bottleneck, target_modules=own.parts)\n", "8 [q_proj]"},
		"fixed layers":   {"--lora_r 4\n", "def f(own):\n    pass\nc = LoraConfig(r=own.lora_r, target_modules=['up_proj'])\n", "4 [up_proj]"},
		"another call":   {"--use_peft --bottleneck 4\n", fields + "c = Other(r=own.bottleneck, target_modules=own.parts)\n", "<nil> <nil>"},
		"changed on use": {"--use_peft --bottleneck 4\n", fields + "c = LoraConfig(r=own.bottleneck * 2)\n", "<nil> <nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{"run.sh": {Data: []byte(start + x.flags)}, "a.py": {Data: []byte(x.program)}}
			run := opened(t, files)
			lora, _ := run.Fields()["lora"].(map[string]any)
			if got := fmt.Sprint(lora["rank"], " ", lora["targets"]); got != x.want {
				t.Errorf("adapters are %s, want %s", got, x.want)
			}
		})
	}
	files := fstest.MapFS{"run.sh": {Data: []byte(start + "--lora_r 4\n")}, "a.py": {Data: []byte("c = LoraConfig(r=own.lora_r, target_modules=layers(own))\n")}}
	if got := opened(t, files).Missing(); len(got) != 1 || got[0].Setting != "lora.targets" || !strings.HasPrefix(got[0].Say, "the program chooses the layers to adapt (a.py:1: LoraConfig); give") {
		t.Errorf("missing with computed layers: %v", got)
	}
}

// TestPartsOfLayer checks that LitGPT's LoRA is refused by name for models with one layer for queries, keys and values.
func TestPartsOfLayer(t *testing.T) {
	const text = "checkpoint_dir: checkpoints/%s\nlora_r: 8\nlora_query: true\ntrain:\n  micro_batch_size: 2\n  global_batch_size: 8\n  max_seq_length: 64\n"
	for name, want := range map[string]int{"tiiuae/falcon-7b": 1, "meta-llama/Llama-2-7b-hf": 0} {
		got := opened(t, fstest.MapFS{"lora.yaml": {Data: fmt.Appendf(nil, text, name)}}).Missing()
		if len(got) != want || want > 0 && !strings.HasPrefix(got[0].Say, "lora.yaml: lora_query adapts a part of the layer") {
			t.Errorf("%s: missing %v", name, got)
		}
	}
}

// TestAdaptersInModules checks adapters that are made outside the program that a script starts: in a module of the project, or
// by the project's own code instead of PEFT.
func TestAdaptersInModules(t *testing.T) {
	const main = "from own.models import build\np = HfArgumentParser((OwnArguments, TrainingArguments))\nm = build(args)\nt = Trainer(model=m)\nt.train()\n"
	for name, x := range map[string]struct{ program, module, want string }{
		"no PEFT":          {main, "class LoRALinear(nn.Linear):\n    pass\n", "run.sh:1: --apply_lora turns on adapters that the program makes without PEFT"},
		"targets named":    {main, "def build(a):\n    c = LoraConfig(r=a.lora_r,\n        lora_dropout=max(a.p, 0), target_modules=layers(a))\n", "the program chooses the layers to adapt (own/models.py:2: LoraConfig)"},
		"PEFT's targets":   {main, "def build(a):\n    c = LoraConfig(r=a.lora_r)\n", ""},
		"targets None":     {main, "def build(a):\n    c = LoraConfig(r=a.lora_r, target_modules=None)\n", ""},
		"made in the file": {"from own.models import build\nc = LoraConfig(r=a.lora_r)\n" + main, "def build(a):\n    c = LoraConfig(target_modules=layers(a))\n", ""},
		"PEFT by a flag":   {"from trl import get_peft_config\n" + main, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := projects.Find(fstest.MapFS{
				"run.sh":   {Data: []byte("python train.py --model_name_or_path gpt2 --per_device_train_batch_size 4 --max_seq_length 64 --apply_lora --lora_r 8\n")},
				"train.py": {Data: []byte(x.program)}, "own/models.py": {Data: []byte(x.module)},
			}, ".", "run.sh")
			if err != nil {
				t.Fatal(err)
			}
			got := New(found).Missing()
			if x.want == "" && len(got) > 0 || x.want != "" && (len(got) == 0 || !strings.HasPrefix(got[0].Say, x.want)) {
				t.Errorf("got %v, want %q", got, x.want)
			}
		})
	}
}
