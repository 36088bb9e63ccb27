// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// oneProgram trains in several ways, which its arguments choose.
const oneProgram = `
from options import Options
def linear_layers(model):
    names = set()
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Linear):
            names.add(name.split(".")[-1])
    names.discard("lm_head")
    return list(names)
def fast(args):
    return FastModel.from_pretrained(args.model_name_or_path)
def slow(args, training_args):
    dtype = torch.bfloat16 if training_args.bf16 else torch.float16
    config = None
    if args.mode == "qlora":
        config = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=dtype, bnb_4bit_quant_type="nf4")
    model = AutoModelForCausalLM.from_pretrained(args.model_name_or_path, torch_dtype=dtype, quantization_config=config)
    if args.mode == "full":
        return model
    if args.mode == "qlora":
        model = prepare_model_for_kbit_training(model)
    return get_peft_model(model, LoraConfig(r=args.width, target_modules=linear_layers(model)))
def main():
    parser = HfArgumentParser((Options, TrainingArguments))
    args, training_args = parser.parse_yaml_file(sys.argv[1])
    model = fast(args) if args.fast else slow(args, training_args)
    if args.goal == "pairs":
        trainer = DPOTrainer(model, args=training_args)
    else:
        trainer = Trainer(model, args=training_args)
    trainer.train()
main()
`

const itsOptions = `
@dataclass
class Options:
    model_name_or_path: str = field(default=None)
    mode: str = field(default="lora", metadata={"help": "full, lora or qlora"})
    goal: str = "tokens"
    fast: bool = False
    width: int = 16
    %s
`

// TestBranches checks that the values in a file decide which code of its program counts.
func TestBranches(t *testing.T) {
	const file = "model_name_or_path: gpt2\nper_device_train_batch_size: 2\nmax_seq_length: 64\nbf16: true\n"
	for name, x := range map[string]struct {
		file, refused string
		rank          any
		bits          any
		weights       any
	}{
		"defaults":        {file, "", 16.0, nil, "bf16"},
		"full":            {file + "mode: full\n", "", nil, nil, "bf16"},
		"4 bits":          {file + "mode: qlora\nwidth: 4\n", "", 4.0, 4.0, "bf16"},
		"another trainer": {file + "goal: pairs\n", "train.py:28: DPOTrainer trains on pairs of answers", nil, nil, nil},
		"another loader":  {file + "fast: true\n", "train.py:11: FastModel is Unsloth's", nil, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{"args.yaml": {Data: []byte(x.file)}, "train.py": {Data: []byte(oneProgram)}, "options.py": {Data: []byte(strings.ReplaceAll(itsOptions, "%s", "pass"))}}
			run := opened(t, files)
			refused := run.refused()
			if (len(refused) > 0) != (x.refused != "") || len(refused) > 0 && !strings.HasPrefix(refused[0].Say, x.refused) {
				t.Errorf("refused: %v, want %q", refused, x.refused)
			}
			if x.refused != "" {
				return
			}
			fields := run.Fields()
			lora, _ := fields["lora"].(map[string]any)
			quantization, _ := fields["quantization"].(map[string]any)
			if lora["rank"] != x.rank || quantization["bits"] != x.bits || fields["weights"] != x.weights {
				t.Errorf("fields are %v", fields)
			}
			if x.rank != nil && (len(lora["targets"].([]any)) != 1 || lora["targets"].([]any)[0] != "all-linear") {
				t.Errorf("adapters are %v", lora)
			}
			if x.bits != nil && (quantization["prepare"] != true || quantization["compute"] != "bf16" || fields["checkpointing"] != true) {
				t.Errorf("quantization is %v, checkpointing %v", quantization, fields["checkpointing"])
			}
		})
	}
}

// TestUndecidedBranch checks that a refusal names the argument that decides whether it applies.
func TestUndecidedBranch(t *testing.T) {
	files := fstest.MapFS{
		"run.sh":   {Data: []byte("python train.py --per_device_train_batch_size 2 --model_name_or_path gpt2 --goal $GOAL\n")},
		"train.py": {Data: []byte("parser = HfArgumentParser(TrainingArguments)\nif args.goal == 'pairs':\n    DPOTrainer(model)\nelse:\n    Trainer(model)\n")},
	}
	got := opened(t, files).refused()
	if len(got) != 1 || !strings.Contains(got[0].Say, "whether it is used depends on goal (line 2), which is not known") {
		t.Errorf("refused: %v", got)
	}
	files["run.sh"].Data = []byte("python train.py --per_device_train_batch_size 2 --model_name_or_path gpt2 --goal tokens\n")
	if got := opened(t, files).refused(); got != nil {
		t.Errorf("refused: %v", got)
	}
}

// TestNoFlag checks that a flag that turns an argument off is read as its value.
func TestNoFlag(t *testing.T) {
	const program = "@dataclass\nclass Options:\n    gradient_checkpointing: bool = field(default=True)\nparser = HfArgumentParser((Options, TrainingArguments))\n" +
		"model = AutoModelForCausalLM.from_pretrained(args.model_name_or_path, quantization_config=BitsAndBytesConfig(load_in_4bit=True))\n" +
		"model = prepare_model_for_kbit_training(model, use_gradient_checkpointing=args.gradient_checkpointing)\nmodel = get_peft_model(model, LoraConfig(r=8))\n"
	for flag, want := range map[string]bool{"": true, " --no_gradient_checkpointing": false, " --gradient_checkpointing False": false, " --gradient_checkpointing $X": false} {
		run := opened(t, fstest.MapFS{
			"run.sh":   {Data: []byte("python train.py --model_name_or_path gpt2 --per_device_train_batch_size 2 --max_seq_length 64" + flag + "\n")},
			"train.py": {Data: []byte(program)},
		})
		fields := run.Fields()
		if got := fields["checkpointing"] == true; got != want || fields["quantization"] == nil {
			t.Errorf("%q: checkpointing is %v, quantization %v", flag, got, fields["quantization"])
		}
	}
}

// TestLayersOfProgram checks that the layers that a program chooses are not taken for PEFT's default.
func TestLayersOfProgram(t *testing.T) {
	const program = "def layers(model):\n%s    return names\nmodel = AutoModelForCausalLM.from_pretrained('gpt2')\nnames = layers(model)\nconfig = LoraConfig(r=8, target_modules=%s)\nmodel = get_peft_model(model, config)\n" +
		"args = TrainingArguments(per_device_train_batch_size=2)\n"
	const search = "    names = [n for n, m in model.named_modules() if isinstance(m, torch.nn.Linear) and n != 'lm_head']\n"
	for name, x := range map[string]struct {
		body, targets string
		want          any
		asked         bool
	}{
		"all linear":      {search, "names", "all-linear", false},
		"another rule":    {"    names = choose(model)\n", "names", nil, true},
		"named":           {search, "['c_attn']", "c_attn", false},
		"PEFT's":          {search, "None", nil, false},
		"by the function": {search, "layers(model)", "all-linear", false},
	} {
		t.Run(name, func(t *testing.T) {
			run := opened(t, fstest.MapFS{"a.py": {Data: []byte(fmt.Sprintf(program, x.body, x.targets))}})
			lora, _ := run.Fields()["lora"].(map[string]any)
			targets, _ := lora["targets"].([]any)
			if got := append(targets, nil)[0]; got != x.want || run.usualTargets() == x.asked && x.want == nil {
				t.Errorf("layers are %v, PEFT's by default: %v", got, run.usualTargets())
			}
		})
	}
}
