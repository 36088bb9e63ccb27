// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"strings"
	"testing"

	"snug/internal/pysrc"
	"snug/internal/setup"
)

// trainerLine returns the measured runs' program with two layers and additional arguments.
func trainerLine(t testing.TB, more string) *setup.Setup {
	p := program{ID: more, Program: "trainer/train.py"}
	line := "--config_name models/gpt2-2l --block_size 256 --per_device_train_batch_size 2 --output_dir out --save_strategy no --logging_steps 2 --max_steps 6 --bf16 "
	for _, a := range strings.Fields(line + more) {
		p.Args = append(p.Args, a)
	}
	return p.setup(t)
}

// TestTrainerRepeats compares long runs that are only partly followed with the complete runs.
func TestTrainerRepeats(t *testing.T) {
	for _, more := range []string{
		"--gradient_accumulation_steps 12",
		"--max_steps -1 --num_train_epochs 5 --train_blocks 61 --eval_strategy epoch",
		"--max_steps 150 --eval_strategy steps --eval_steps 40 --compute_accuracy",
		"--max_steps 60 --torch_empty_cache_steps 20",
		"--eval_strategy steps --eval_steps 3 --eval_blocks 163",
		"--eval_strategy steps --eval_steps 3 --eval_blocks 163 --compute_accuracy",
		"--do_predict --eval_blocks 163 --eval_accumulation_steps 3",
	} {
		t.Run(more, func(t *testing.T) {
			some, err := Run(trainerLine(t, more), Options{})
			if err != nil {
				t.Fatal(err)
			}
			all, err := Run(trainerLine(t, more), Options{Whole: true})
			if err != nil {
				t.Fatal(err)
			}
			if len(some.World.Trace.Events) > len(all.World.Trace.Events)*3/4 {
				t.Errorf("%d of %d events", len(some.World.Trace.Events), len(all.World.Trace.Events))
			}
			got, want := played(t, some), played(t, all)
			if got.PeakReserved != want.PeakReserved {
				t.Errorf("reserved %d, but %d in the complete run", got.PeakReserved, want.PeakReserved)
			}
		})
	}
}

// trainerScript returns a script around the Trainer with the given body.
func trainerScript(t testing.TB, body string) *setup.Setup {
	s := trainerLine(t, "")
	f, err := pysrc.Parse("train.py", []byte(`
import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import AutoConfig, AutoModelForCausalLM, DataCollatorForLanguageModeling, Trainer, TrainerCallback, TrainingArguments

class Tokens(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, i):
        ids = torch.randint(0, 50257, (256,))
        return {"input_ids": ids, "labels": ids.clone()}

def arguments(**more):
    return TrainingArguments(output_dir="out", per_device_train_batch_size=2, max_steps=6, save_strategy="no", bf16=True, **more)

model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained("gpt2"))
`+body))
	if err != nil {
		t.Fatal(err)
	}
	s.Script = &setup.Script{File: f}
	return s
}

func trainerPeak(t testing.TB, body string) (uint64, []string) {
	s := trainerScript(t, body)
	res, err := Run(s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return played(t, res).PeakAllocated, s.Script.Notes()
}

// TestTrainerOverrides checks that the effects of a subclass or a callback are included.
func TestTrainerOverrides(t *testing.T) {
	plain, notes := trainerPeak(t, "Trainer(model, arguments(), train_dataset=Tokens()).train()\n")
	if len(notes) > 0 {
		t.Errorf("notes of a plain run: %q", notes)
	}
	resumed, notes := trainerPeak(t, "Trainer(model, arguments(), train_dataset=Tokens()).train(resume_from_checkpoint='out/checkpoint-5')\n")
	if max(resumed, plain)-min(resumed, plain) > plain/100 || len(notes) > 0 { // loaded states may occupy different blocks
		t.Errorf("resumed: %d after %d, %q", resumed, plain, notes)
	}
	const logits = 2 * 256 * 50257 * 4
	for name, c := range map[string]struct {
		body string
		more uint64 // bytes more than the plain run
	}{
		"outputs kept": {`
class Keeping(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss, outputs = super().compute_loss(model, inputs, return_outputs=True, num_items_in_batch=num_items_in_batch)
        self.last = outputs
        return (loss, outputs) if return_outputs else loss

Keeping(model, arguments(), train_dataset=Tokens()).train()
`, logits},
		"gradients kept by a callback": {`
class Keep(TrainerCallback):
    def on_pre_optimizer_step(self, args, state, control, model=None, **kwargs):
        self.kept = [p.grad.clone() for p in model.parameters()]

Trainer(model, arguments(), train_dataset=Tokens(), callbacks=[Keep()]).train()
`, 4 * 53_000_000},
		"a module around the model": {`
class Around(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model, self.me = model, self

    def forward(self, input_ids, labels=None):
        logits = self.model(input_ids=input_ids).logits
        kept = logits.float()
        loss = nn.functional.cross_entropy(kept.view(-1, kept.size(-1)), labels.view(-1))
        return {"loss": loss, "logits": logits}

Trainer(Around(model), arguments(), train_dataset=Tokens()).train()
`, 0},
	} {
		got, notes := trainerPeak(t, c.body)
		if got < plain+c.more*9/10 || len(notes) > 0 {
			t.Errorf("%s: %d after %d, %q", name, got, plain, notes)
		}
	}
}

// TestTrainerLoads checks that the way a script loads its weights is taken into account.
func TestTrainerLoads(t *testing.T) {
	const train = `
model = get_peft_model(model, LoraConfig(r=8, target_modules=["c_attn", "c_proj"]))
Trainer(model, arguments(), train_dataset=Tokens()).train()
`
	const imports = "from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training\nfrom transformers import BitsAndBytesConfig\n"
	var last uint64 = 1 << 40
	for _, load := range []string{
		"",
		"model = AutoModelForCausalLM.from_pretrained('gpt2', dtype=torch.bfloat16)\n",
		"model = AutoModelForCausalLM.from_pretrained('gpt2', dtype='bfloat16', quantization_config=BitsAndBytesConfig(load_in_4bit=True))\n",
	} {
		got, notes := trainerPeak(t, imports+load+train)
		if got >= last || len(notes) > 0 {
			t.Errorf("%q: %d after %d, %q", load, got, last, notes)
		}
		last = got
	}
}

// TestTrainerLoadsGPTQ checks that a GPTQConfig decides how many bits the weights of the model's two blocks have.
func TestTrainerLoadsGPTQ(t *testing.T) {
	peak := func(config string) uint64 {
		got, notes := trainerPeak(t, `
from peft import LoraConfig, get_peft_model
from transformers import GPTQConfig
model = AutoModelForCausalLM.from_pretrained('gpt2', dtype='float16', quantization_config=`+config+`)
model = get_peft_model(model, LoraConfig(r=8, target_modules=["c_attn", "c_proj"]))
Trainer(model, arguments(), train_dataset=Tokens()).train()
`)
		if len(notes) > 0 {
			t.Errorf("%s: %q", config, notes)
		}
		return got
	}
	eight, four := peak("GPTQConfig(bits=8)"), peak("GPTQConfig(4, group_size=128)")
	numbers := uint64(2 * (3 + 1 + 4 + 4) * 768 * 768)
	if want := numbers/2 + numbers/128/2; eight-four < want || eight-four > want+want/10 { // blocks are larger than what they hold
		t.Errorf("%d bytes with 8 bits, %d with 4; want a difference of %d", eight, four, want)
	}
}

// TestTrainerNotes checks that options with an effect on memory that is not followed are noted.
func TestTrainerNotes(t *testing.T) {
	for option, want := range map[string]string{
		`torch_compile=True`:        "torch.compile",
		`optim="galore_adamw"`:      "galore_adamw",
		`optim="paged_adamw_8bit"`:  "paged_adamw_8bit",
		`fsdp="full_shard"`:         "several GPUs",
		`auto_find_batch_size=True`: "auto_find_batch_size",
		`gradient_checkpointing=True, gradient_checkpointing_kwargs={"offload": True}`: "offload",
	} {
		_, notes := trainerPeak(t, "Trainer(model, arguments("+option+"), train_dataset=Tokens()).train()\n")
		if all := strings.Join(notes, "\n"); !strings.Contains(all, want) || !strings.Contains(all, "train.py:") {
			t.Errorf("%s: %q", option, notes)
		}
	}
}
