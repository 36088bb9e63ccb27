// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"snug/internal/setup"
)

// TestUnsearched checks that the figures come with a note on the files that were not read.
func TestUnsearched(t *testing.T) {
	p := opened(t, fstest.MapFS{"a.yaml": {Data: []byte("batch_size: 4\n")}})
	p.Unsearched = "two files were not read"
	if got := p.Warnings(p.Fields()); len(got) == 0 || got[0] != p.Unsearched {
		t.Errorf("warnings are %q", got)
	}
}

// TestOtherTrainers checks that scripts with another objective are recognized by what they create or start.
func TestOtherTrainers(t *testing.T) {
	const (
		batch         = "per_device_train_batch_size"
		comparesPairs = "trains on pairs of answers, with twice the rows"
		weighsAnswers = "trains on rated answers, with a frozen reference"
		samplesFirst  = "generates answers before it trains on them"
		scoresAnswers = "trains a head that scores answers"
	)
	for name, x := range map[string]struct{ file, text, does string }{
		"a config":           {"a.py", "args = KTOConfig(" + batch + "=2)\n", weighsAnswers},
		"a trainer":          {"a.py", batch + " = 2\nRewardTrainer(model=m)\n", scoresAnswers},
		"of a module":        {"a.py", batch + " = 2\nt = trl.GRPOTrainer(model=m)\n", samplesFirst},
		"online":             {"a.py", batch + " = 2\nt = OnlineDPOTrainer(model=m)\n", comparesPairs},
		"in a comment":       {"a.py", batch + " = 2\n# DPOConfig(beta=1)\n", ""},
		"imported only":      {"a.py", "from trl import DPOConfig\n" + batch + " = 2\n", ""},
		"another word":       {"a.py", batch + " = 2\nc = ShippoConfig(1)\n", ""},
		"supervised":         {"a.py", "args = SFTConfig(" + batch + "=2)\n", ""},
		"a program":          {"a.sh", "python examples/train_ppo.py --" + batch + " 2\n", samplesFirst},
		"TRL's own":          {"a.sh", "trl reward --" + batch + " 2\n", scoresAnswers},
		"TRL's sft":          {"a.sh", "trl sft --" + batch + " 2 --output_dir dpo\n", ""},
		"a program's stage":  {"a.sh", "llamafactory-cli train --stage rm --" + batch + " 2\n", scoresAnswers},
		"supervised stage":   {"a.sh", "llamafactory-cli train --stage sft --" + batch + " 2\n", ""},
		"commented out":      {"a.sh", "# trl dpo\npython a.py --" + batch + " 2\n", ""},
		"a class to parse":   {"a.py", batch + " = 2\np = TrlParser((ScriptArguments, GRPOConfig))\n", samplesFirst},
		"a new class":        {"a.py", batch + " = 2\nt = AsyncGRPOTrainer(model=m)\n", samplesFirst},
		"a module":           {"a.sh", "python -m verl.trainer.main_ppo --" + batch + " 2\n", samplesFirst},
		"a recipe":           {"a.sh", "tune run --nproc_per_node 2 lora_dpo_distributed --batch_size 2\n", comparesPairs},
		"a folder":           {"a.sh", "deepspeed step2_reward_model_finetuning/main.py --" + batch + " 2\n", scoresAnswers},
		"a converter":        {"a.sh", "python a.py --" + batch + " 2\npython convert_dpo.py --to x\n", ""},
		"another command":    {"a.sh", "python sft.py --" + batch + " 2\npython dpo.py --model x\n", ""},
		"a ranker":           {"a.sh", "torchrun -m FlagEmbedding.finetune.reranker.run --" + batch + " 2\n", "compares texts by their embeddings"},
		"a teacher":          {"a.yaml", "batch_size: 2\nteacher_model: {name: x}\n", "trains with a teacher model"},
		"no teacher":         {"a.yaml", "batch_size: 2\nteacher_model: null\nkd_ratio: 0\n", ""},
		"a loss":             {"a.yaml", "batch_size: 2\nloss: {_component_: lib.loss.SimPOLoss}\n", comparesPairs},
		"a kind of trainer":  {"a.yaml", "training: {batch_size: 2, trainer_type: TRL_GRPO}\n", samplesFirst},
		"a supervised kind":  {"dpo/a.yaml", "training: {batch_size: 2, trainer_type: TRL_SFT}\n", ""},
		"a prefix":           {"a.sh", "python run.py --" + batch + " 2 --pre_seq_len 40 --prefix\n", "trains a prefix of keys and values"},
		"an image encoder":   {"a.sh", "python run.py --" + batch + " 2 --vision_tower openai/clip-vit-large-patch14\n", "adds an image encoder and a projection"},
		"a projection":       {"a.sh", "python run.py --" + batch + " 2 --tune_mm_mlp_adapter True\n", "adds an image encoder and a projection"},
		"a frozen encoder":   {"a.yaml", batch + ": 2\nfreeze_vision_tower: true\n", ""},
		"JAX":                {"a.py", "import jax\n" + batch + " = 2\nt = Trainer(model=m)\n", "trains with JAX"},
		"JAX if it is there": {"a.py", "try:\n    import jax\nexcept ImportError:\n    pass\n" + batch + " = 2\nt = Trainer(model=m)\n", ""},
		"Gaudi":              {"a.py", "from optimum.habana import GaudiTrainer\n" + batch + " = 2\nt = GaudiTrainer(model=m)\n", "trains on Gaudi"},
		"interventions":      {"a.py", "from pyreft import ReftTrainer\n" + batch + " = 2\nt = ReftTrainer(model=m)\n", "trains interventions"},
		"pairs of texts":     {"conf/contrastive_pretrain.yaml", "model_name: bert-base-cased\nbatch_size: 2\nseq_len: 64\n", "compares texts by their embeddings"},
		"a weight":           {"a.yaml", "model_name: bert-base-cased\nbatch_size: 2\nseq_len: 64\ncontrastive_alpha: 0.5\n", ""},
		"verl's own loop":    {"a.sh", "torchrun --nproc_per_node=8 \\\n -m verl.trainer.fsdp_sft_trainer data.train_batch_size=128 data.micro_batch_size_per_gpu=2\n", "verl's own loop"},
		"a teacher's name":   {"a.sh", "python run.py --batch-size 2 --teacher-model-path x/xl --teacher-ckpt-name xl-sft\n", "trains with a teacher model"},
		"dropout twice":      {"a.json", `{"` + batch + `": 2, "simcse_dropout": 0.3}`, "compares texts by their embeddings"},
		"pooled texts":       {"a.json", `{"` + batch + `": 2, "pooling_mode": "mean"}`, "compares texts by their embeddings"},
		"masked tokens":      {"a.json", `{"` + batch + `": 2, "model_name_or_path": "Qwen/Qwen2-0.5B", "max_seq_length": 64, "mlm_probability": 0.8}`, "predicts masked tokens"},
		"of an encoder":      {"a.json", `{"` + batch + `": 2, "model_name_or_path": "bert-base-cased", "max_seq_length": 64, "mlm_probability": 0.15}`, ""},
		"both directions":    {"a.json", `{"` + batch + `": 2, "model_name_or_path": "Qwen/Qwen2-0.5B", "max_seq_length": 64, "bidirectional": true}`, "lets tokens attend to later ones"},
		"one direction":      {"a.json", `{"` + batch + `": 2, "model_name_or_path": "Qwen/Qwen2-0.5B", "max_seq_length": 64, "bidirectional": false}`, ""},
		"a data set":         {"a.yaml", batch + ": 2\nmodel_name_or_path: Qwen/Qwen2-0.5B\nmax_seq_length: 64\ndataset_mixer:\n  /data/v1.5/preference-collection: 1.0\n", ""},
		"a named file":       {"conf/llama-vppo.yaml", batch + ": 2\nmax_length: 64\n", "with a frozen reference model"},
		"one of TRL's":       {"conf/llama-simpo.yaml", batch + ": 2\nmax_length: 64\n", ""},
		"open-instruct's":    {"conf/dpo/a.yaml", batch + ": 2\nwith_tracking: true\n", comparesPairs},
		"its sft":            {"conf/sft/a.yaml", batch + ": 2\nwith_tracking: true\n", ""},
		"a library":          {"a.py", "from setfit import Trainer\n" + batch + " = 2\n", "compares texts by their embeddings"},
		"Unsloth's":          {"a.py", batch + " = 2\nm = FastSentenceTransformer.from_pretrained('x')\n", "is Unsloth's"},
		"a named folder":     {"kto/a.yaml", batch + ": 2\nmax_length: 64\n", weighsAnswers},
		"in that folder":     {"kto/sft.yaml", batch + ": 2\nmax_length: 64\n", ""},
		"a model's name":     {"a.yaml", "batch_size: 2\nmodel_name: zephyr-dpo\noutput_dir: out/dpo\n", ""},
		"prediction":         {"a.yaml", batch + ": 2\ndo_predict: true\n", "runs the model without training it"},
		"both":               {"a.yaml", batch + ": 2\ndo_train: true\ndo_predict: true\n", ""},
		"a numbered stage":   {"a.sh", "python a.py --stage 2 --" + batch + " 2\n", ""},
		"a named stage":      {"a.sh", "STAGE=one_stage\npython a.py --stage $STAGE --" + batch + " 2\n", ""},
		"a stage and PPO":    {"a.sh", "STAGE=one_stage\npython ppo.py --stage $STAGE --" + batch + " 2\n", samplesFirst},
		"only evaluates":     {"a.sh", "python a.py --do_eval --" + batch + " 2\n", "runs the model without training it"},
		"trains besides":     {"a.sh", "python a.py --do_eval --learning_rate 1 --" + batch + " 2\n", ""},
		"in quotes":          {"a.sh", batch + "=2\ncmd=\"torchrun \\\n -m lib.reranker.main \\\n --" + batch + " 2\"\neval $cmd\n", "compares texts by their embeddings"},
		"printed only":       {"a.sh", "echo python dpo.py --x\npython a.py --" + batch + " 2\n", ""},
		"a named program":    {"train_reward_model.py", batch + " = 2\nt = Trainer(model=m)\n", scoresAnswers},
		"a program within":   {"rlhf/step1.py", batch + " = 2\nt = Trainer(model=m)\n", ""},
		"a model":            {"a.py", batch + " = 2\nt = Trainer(model=GPTRewardModel(name))\n", scoresAnswers},
		"its own model":      {"a.py", batch + " = 2\nclass RewardModel(nn.Module):\n    pass\nm = RewardModel(c)\nm(x).backward()\n", ""},
		"its own loop":       {"train_reward_model.py", batch + " = 2\nclass Net(nn.Module):\n    pass\nNet()(x).backward()\n", ""},
		"a distilled model":  {"a.py", batch + " = 2\nm = DistilBertModel(c)\n", ""},
		"a distillation":     {"a.py", batch + " = 2\nt = DistilTrainer(c)\n", "trains with a teacher model"},
		"evaluation":         {"a.sh", "python evaluate.py --batch_size 2\n", "does not train, judging by its name"},
		"and training":       {"a.sh", "python train_and_evaluate.py --batch_size 2\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := opened(t, fstest.MapFS{x.file: {Data: []byte(x.text)}}).refused()
			switch {
			case x.does == "" && len(got) > 0:
				t.Errorf("refused: %v", got)
			case x.does != "" && (len(got) != 1 || got[0].Setting != Training || !strings.Contains(got[0].Say, x.does)):
				t.Errorf("got %v, want %q", got, x.does)
			}
		})
	}
}

// TestScriptModel checks that the model that a script loads is found.
func TestScriptModel(t *testing.T) {
	const args = "args = TrainingArguments(per_device_train_batch_size=2)\n"
	type want struct {
		Name, Head string
	}
	for name, x := range map[string]struct {
		text string
		want want
	}{
		"literal":          {"m = AutoModelForCausalLM.from_pretrained('gpt2')\n", want{"gpt2", ""}},
		"by keyword":       {"m = GPT2LMHeadModel.from_pretrained(\n  pretrained_model_name_or_path=\"gpt2\", dtype='auto')\n", want{"gpt2", ""}},
		"a name":           {"NAME = 'gpt2'\nm = AutoModelForCausalLM.from_pretrained(NAME)\n", want{"gpt2", ""}},
		"an attribute":     {"class C:\n    base = 'gpt2'\nm = AutoModelForCausalLM.from_pretrained(cfg.base)\n", want{"gpt2", ""}},
		"two of a name":    {"def f():\n    n = 'gpt2'\ndef g():\n    n = 'bert'\nm = AutoModelForCausalLM.from_pretrained(n)\n", want{}},
		"tokenizer":        {"t = AutoTokenizer.from_pretrained('gpt2')\nc = AutoConfig.from_pretrained('gpt2')\n", want{}},
		"adapters":         {"m = PeftModel.from_pretrained('gpt2')\n", want{}},
		"in a comment":     {"# m = AutoModelForCausalLM.from_pretrained('gpt2')\n", want{}},
		"no head":          {"m = AutoModel.from_pretrained('bert-base-uncased')\n", want{"bert-base-uncased", "encoder"}},
		"classifies":       {"m = BertForTokenClassification.from_pretrained('bert-base-uncased')\n", want{"bert-base-uncased", "token-classification"}},
		"answers":          {"m = BertForQuestionAnswering.from_pretrained('bert-base-uncased')\n", want{"bert-base-uncased", "question-answering"}},
		"chooses":          {"m = AutoModelForMultipleChoice.from_pretrained('bert-base-uncased')\n", want{"bert-base-uncased", "multiple-choice"}},
		"masked":           {"m = BertForMaskedLM.from_pretrained('bert-base-uncased')\n", want{"bert-base-uncased", ""}},
		"a trainer's":      {"t = SFTTrainer(f(x), model='gpt2', args=args)\n", want{"gpt2", ""}},
		"a trainer's name": {"M = 'gpt2'\nSFTTrainer(\n    model=M,\n)\n", want{"gpt2", ""}},
		"nothing":          {"t = Trainer(model=m)\n", want{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := opened(t, fstest.MapFS{"train.py": {Data: []byte(x.text + args)}}).scriptModel()
			if diff := cmp.Diff(x.want, want{got.Name, got.Head}); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestLoopByName checks that a config for TRL that only its name shows to be for DPO gets TRL's loop, with a note. A
// config in a folder of that name may be for anything.
func TestLoopByName(t *testing.T) {
	const text = "model_name_or_path: gpt2\nper_device_train_batch_size: 4\nmax_length: 1024\nuse_peft: true\nlora_r: 32\n"
	r := opened(t, fstest.MapFS{"dpo_run.yaml": {Data: []byte(text)}})
	fields := r.Fields()
	if fields["loop"] != setup.DPOLoop {
		t.Errorf("the loop is %v", fields["loop"])
	}
	const note = "judging by its name, dpo_run.yaml trains on pairs of answers, with twice the rows and usually a frozen reference model (loop trl-dpo); if it trains on tokens, give --loop trl"
	if got := r.Warnings(fields); !slices.Contains(got, note) {
		t.Errorf("notes %q", got)
	}
}
