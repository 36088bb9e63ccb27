// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"

	"snug/internal/config/doc"
	"snug/internal/config/systems"
)

// keyBase is a config, in YAML, to which the keys of a system can be added, with the files that are read along with it.
type keyBase struct {
	text    string
	beside  map[string]string
	gpus    int    // number of GPUs given by the user
	without string // a setting whose keys are removed
	program string // the program that the script starts; "" for train.py
}

// Parts of the bases of trainers that use TrainingArguments.
const (
	hfBase          = "{model_name_or_path: gpt2, per_device_train_batch_size: 4, output_dir: out"
	hfLoRA          = hfBase + ", use_lora: true, lora_rank: 8, lora_target_modules: [c_attn]"
	fourBit         = ", load_in_4bit: true, bf16: true"
	hfSharded       = hfBase + ", bf16: true, deepspeed: ds.json"
	axoBase         = "{base_model: gpt2, micro_batch_size: 4, sequence_len: 64, bf16: true, datasets: [{path: x}]"
	axoLoRA         = axoBase + ", adapter: lora, lora_r: 8, lora_target_modules: [c_attn]"
	lfBase          = "{model_name_or_path: gpt2, stage: sft, do_train: true, cutoff_len: 64, per_device_train_batch_size: 4, output_dir: out, finetuning_type: "
	lfLoRA          = lfBase + "lora, lora_rank: 8, lora_target: c_attn, bf16: true"
	trlBase         = "{model_name_or_path: gpt2, per_device_train_batch_size: 4, max_length: 64, output_dir: out"
	trlLoRA         = trlBase + ", use_peft: true, lora_r: 8, lora_target_modules: [c_attn]"
	titanBase       = "{job: {dump_folder: o}, model: {name: llama3, flavor: 8B}, training: {local_batch_size: 2, seq_len: 64}"
	tuneBase        = "{model: {_component_: torchtune.models.llama3_2.lora_llama3_2_1b, lora_attn_modules: [q_proj], lora_rank: 8}, tokenizer: {max_seq_len: 64}, batch_size: 4, dtype: bf16}"
	nanoBase        = "{tokens: {micro_batch_size: 2, sequence_length: 64}, parallelism: {dp: 1, tp: 1, pp: 1}, model: {dtype: bfloat16, model_config: {is_llama_config: true, hidden_size: 64, num_hidden_layers: 2, num_attention_heads: 2, vocab_size: 320, intermediate_size: 128, max_position_embeddings: 128}}"
	ownBase         = "{model_name: gpt2, batch_size: 4, seq_len: 64"
	ownLoRA         = ownBase + ", lora_r: 8, lora_target_modules: [c_attn]"
	chatBase        = "{model_name_or_path: gpt2, per_device_train_batch_size: 4, data_split: '2,4,4'"
	rlhfBase        = "{model_name_or_path: gpt2, max_len: 64, train: {micro_batch_size: 4}"
	instructBase    = "{model_name_or_path: gpt2, per_device_train_batch_size: 4, max_seq_length: 64, with_tracking: true"
	lmflowBase      = "{model_name_or_path: gpt2, per_device_train_batch_size: 4, block_size: 64, disable_group_texts: 1"
	rlhfProgram     = "-m openrlhf.cli.train_sft"
	instructProgram = "open_instruct/finetune.py"
	qloraBase       = "{model_name_or_path: gpt2, per_device_train_batch_size: 4, source_max_len: 64"
	diffusersBase   = "{pretrained_model_name_or_path: stable-diffusion-v1-5, train_batch_size: 1, resolution: 64, mixed_precision: bf16"
	lightBase       = "{seed_everything: 1, trainer: {max_epochs: 1}, data: {class_path: d.D, init_args: {batch_size: 4}}, model: {class_path: m.M, init_args: {model_name: gpt2}}"
	swiftBase       = "{model: gpt2, dataset: x, max_length: 64, per_device_train_batch_size: 4, tuner_type: "
	swiftLoRA       = swiftBase + "lora, lora_rank: 8, target_modules: [c_attn]"
	oumiBase        = "{model: {model_name: gpt2, model_max_length: 64}, training: {trainer_type: TRL_SFT, per_device_train_batch_size: 4"
	trainBase       = "{task: llm-sft, base_model: gpt2, project_name: p, data: {path: x}, params: {block_size: 64"
	litBase         = "{checkpoint_dir: checkpoints/gpt2, precision: bf16-true, train: {micro_batch_size: 2, global_batch_size: 8, max_seq_length: 64"
	xtunerBase      = "{max_length: 64, train_dataloader: {batch_size: 4}, optim_wrapper: {dtype: bfloat16}, model: {llm: {pretrained_model_name_or_path: gpt2}"
	olmoBase        = "{model: {d_model: 64, n_heads: 2, n_layers: 2, rope: true, include_bias: false, layer_norm_with_affine: false, max_sequence_length: 64}, device_train_microbatch_size: 2, global_train_batch_size: 4"
	neoxBase        = "{num_layers: 2, hidden_size: 64, num_attention_heads: 2, seq_length: 64, pos_emb: rotary, train_micro_batch_size_per_gpu: 2"
	lf1Base         = "{model: gpt2, train_dataset: x, micro_batch_size: 2, cutoff_len: 64"
)

// launched are the flags and files of a run on several GPUs, which sharding keys need.
var launched = map[string]string{"run.sh": "torchrun --nproc_per_node 4 train.py a.yaml\n"}

// olderTRL is an installed TRL that computes its loss differently.
var olderTRL = map[string]string{".venv/lib/python3.12/site-packages/trl-1.5.0.dist-info/METADATA": ""}

// keyBases are the bases of each system, by name. Every key must have an effect in at least one of them.
var keyBases = map[string][]keyBase{
	"hf": {{text: hfBase + "}"}, {text: hfBase + ", fsdp: full_shard}", beside: launched}, {text: hfLoRA + "}"}, {text: hfLoRA + fourBit + "}"}, {text: hfBase + ", use_liger_kernel: true}"}, {text: hfBase + ", eval_strategy: steps}"},
		{text: hfBase + ", bf16: true}", beside: launched}},
	"trl": {{text: trlBase + "}"}, {text: trlBase + ", fsdp: full_shard}", beside: launched}, {text: trlBase + "}", beside: olderTRL}, {text: trlBase + ", use_liger_kernel: true}", beside: olderTRL}, {text: trlLoRA + "}"}, {text: trlLoRA + fourBit + "}"}, {text: trlBase + ", use_liger_kernel: true}"}, {text: trlBase + ", eval_strategy: steps}"}, {text: trlBase + "}", beside: launched}},
	"axolotl": {{text: axoBase + "}"}, {text: axoBase + ", fsdp: [full_shard], fsdp_config: {fsdp_sharding_strategy: FULL_SHARD}}", beside: launched}, {text: axoLoRA + "}"}, {text: strings.Replace(axoLoRA, "adapter: lora", "adapter: qlora", 1) + ", load_in_4bit: true}"},
		{text: axoBase + ", plugins: [axolotl.integrations.liger.LigerPlugin]}"}, {text: axoBase + ", liger_rope: true}"}, {text: strings.Replace(axoBase, "bf16: true", "bf16: false", 1) + "}"}, {text: axoBase + ", val_set_size: 0.1, eval_batch_size: 64}"}, {text: axoBase + ", test_datasets: [{path: x}], eval_strategy: steps, eval_batch_size: 64}"}, {text: axoBase + "}", beside: launched}},
	"llama-factory":  {{text: strings.Replace(lfBase, "gpt2", "internvl3-1b", 1) + "full}"}, {text: strings.Replace(lfBase, "gpt2", "qwen2-vl-2b", 1) + "full}"}, {text: lfBase + "full}"}, {text: strings.Replace(lfBase, "sft", "dpo", 1) + "full}"}, {text: lfBase + "full}"}, {text: lfBase + "full, fsdp: full_shard}", beside: launched}, {text: lfBase + "full, fsdp: full_shard, disable_gradient_checkpointing: true}", beside: launched}, {text: lfLoRA + "}"}, {text: lfLoRA + ", quantization_bit: 4}"}, {text: lfBase + "full, enable_liger_kernel: true}"}, {text: lfBase + "full, eval_strategy: steps}"}, {text: lfBase + "full}", beside: launched}},
	"ms-swift":       {{text: strings.Replace(swiftBase, "gpt2", "qwen2-vl-2b", 1) + "full, max_pixels: 802816}"}, {text: swiftBase + "full}"}, {text: "{model_id_or_path: gpt2, sft_type: full, max_length: 64, batch_size: 4}"}, {text: swiftBase + "full, fsdp: fsdp2}", beside: launched}, {text: swiftLoRA + "}"}, {text: swiftLoRA + ", quant_bits: 4, quant_method: bnb}"}, {text: swiftBase + "full, use_liger_kernel: true}"}, {text: swiftBase + "full, eval_strategy: steps}"}, {text: swiftBase + "full}", beside: launched}},
	"ms-swift-shell": {{text: strings.Replace(swiftBase, "gpt2", "qwen2-vl-2b", 1) + "full, max_pixels: 802816}"}, {text: swiftBase + "full}"}, {text: swiftBase + "full, fsdp: fsdp2, nproc_per_node: 4}"}, {text: swiftLoRA + "}"}, {text: swiftLoRA + ", quant_bits: 4, quant_method: bnb}"}, {text: swiftBase + "full, use_liger_kernel: true}"}, {text: swiftBase + "full, eval_strategy: steps}"}, {text: swiftBase + "full, nproc_per_node: 4}"}},
	"oumi": {{text: oumiBase + "}}"}, {text: oumiBase + ", use_peft: true}, peft: {lora_r: 8, lora_target_modules: [c_attn]}}"}, {text: oumiBase + ", use_peft: true}, peft: {lora_r: 8, lora_target_modules: [c_attn], q_lora: true}}"}, {text: oumiBase + ", eval_strategy: steps}}"},
		{text: oumiBase + "}, fsdp: {enable_fsdp: true}}", beside: launched}, {text: oumiBase + "}, deepspeed: {enable_deepspeed: true}}", beside: launched}},
	"autotrain":           {{text: trainBase + "}}"}, {text: trainBase + ", peft: true, target_modules: c_attn}}"}, {text: trainBase + ", peft: true, target_modules: c_attn, quantization: int4}}"}},
	"litgpt":              {{text: litBase + "}}"}, {text: litBase + "}, lora_r: 8}"}, {text: litBase + "}, devices: 4}"}},
	"litgpt-pretrain":     {{text: "{model_name: gpt2, train: {micro_batch_size: 2, global_batch_size: 8, max_seq_length: 64}, devices: 1}"}},
	"llama-factory-v1":    {{text: lf1Base + "}"}, {text: lf1Base + ", peft_config: {name: lora, r: 8, target_modules: [c_attn]}}"}, {text: lf1Base + ", dist_config: {name: fsdp2}}", beside: launched}, {text: lf1Base + ", dist_config: {name: deepspeed}}", beside: launched}},
	"llama-factory-shell": {{text: strings.Replace(lfBase, "gpt2", "internvl3-1b", 1) + "full}"}, {text: strings.Replace(lfBase, "gpt2", "qwen2-vl-2b", 1) + "full}"}, {text: lfBase + "full}"}, {text: strings.Replace(lfBase, "sft", "dpo", 1) + "full}"}, {text: lfBase + "full}"}, {text: lfBase + "full, bf16: true}"}, {text: lfBase + "full, fsdp: full_shard, nproc_per_node: 4}"}, {text: lfLoRA + "}"}, {text: lfLoRA + ", quantization_bit: 4}"}, {text: lfBase + "full, enable_liger_kernel: true}"}, {text: lfBase + "full, eval_strategy: steps}"}, {text: lfBase + "full, nproc_per_node: 4}"}},
	"torchtune":           {{text: tuneBase}, {text: tuneBase, beside: map[string]string{"run.sh": "tune run --nproc_per_node 2 lora_finetune_distributed --config a.yaml\n"}}},
	"composer": {{text: "{max_seq_len: 64, model: {name: hf_causal_lm, pretrained_model_name_or_path: gpt2}, device_train_microbatch_size: 2, global_train_batch_size: 4, fsdp_config: {sharding_strategy: FULL_SHARD}}", beside: launched}, {text: "{max_seq_len: 64, model: {name: hf_causal_lm, pretrained_model_name_or_path: gpt2}, device_train_microbatch_size: 2, global_train_batch_size: 4, train_loader: {num_workers: 1}, precision: amp_bf16}"},
		{text: "{max_seq_len: 64, model: {name: hf_causal_lm, pretrained_model_name_or_path: gpt2, peft_config: {r: 8, peft_type: LORA, target_modules: [c_attn]}}, device_train_microbatch_size: 2, global_train_batch_size: 4}"}},
	"olmo":        {{text: olmoBase + "}"}, {text: olmoBase + ", precision: amp_bf16, fsdp: {precision: mixed}}", beside: launched}, {text: olmoBase + ", precision: amp_bf16}", beside: launched}},
	"gpt-neox":    {{text: neoxBase + "}"}, {text: strings.Replace(neoxBase, "seq_length", "seq-length", 1) + "}"}, {text: neoxBase + "}", beside: launched}},
	"nanotron":    {{text: nanoBase + "}"}, {text: strings.Replace(nanoBase, "dp: 1", "dp: 2", 1) + "}"}},
	"torchtitan":  {{text: titanBase + "}"}, {text: titanBase + ", parallelism: {data_parallel_shard_degree: 4}}"}},
	"kohya":       {{text: "{pretrained_model_name_or_path: gpt2, train_batch_size: 4, network_module: networks.lora, network_dim: 8}"}},
	"ultralytics": {{text: "{model: gpt2, imgsz: 64, batch: 4, epochs: 1, amp: false}"}},
	"lightning": {{text: lightBase + "}"}, {text: strings.Replace(lightBase, "batch_size: 4", "batch_size: 4, eval_batch_size: 64", 1) + "}"}, {text: "{fit: " + strings.Replace(lightBase, "batch_size: 4", "batch_size: 4, eval_batch_size: 64", 1) + "}}"},
		{text: "{fit: " + strings.Replace(lightBase, "trainer: {max_epochs: 1}", "trainer: {devices: 2}", 1) + "}}"}, {text: strings.Replace(lightBase, "max_epochs: 1", "max_epochs: 1, devices: 4", 1) + "}"}},
	"hydra":       {{text: "{defaults: [_self_], data: {batch_size: 4}, trainer: {max_epochs: 1, devices: 2}, model_name: gpt2}"}},
	"deepspeed":   {{text: "{zero_optimization: {stage: 2}, train_micro_batch_size_per_gpu: auto}", beside: map[string]string{"main.yaml": hfSharded + "}", "run.sh": "deepspeed --num_gpus 4 train.py main.yaml\n"}}, {text: "{train_micro_batch_size_per_gpu: 4, zero_optimization: {stage: 2}}"}},
	"accelerate":  {{text: "{compute_environment: LOCAL_MACHINE, distributed_type: FSDP, num_processes: 4}", beside: map[string]string{"main.yaml": hfBase + "}"}}, {text: "{compute_environment: LOCAL_MACHINE, distributed_type: DEEPSPEED, num_processes: 4}", beside: map[string]string{"main.yaml": hfBase + "}"}}},
	"fsdp_config": {{text: "{}", beside: map[string]string{"main.yaml": hfBase + ", bf16: true, fsdp: full_shard, fsdp_config: ds.json}", "run.sh": "torchrun --nproc_per_node 4 train.py main.yaml\n"}}},
	"hf-script":   {{text: hfBase + "}"}, {text: hfBase + ", eval_strategy: steps}", gpus: 4}, {text: hfBase + ", fsdp: full_shard}", gpus: 4}, {text: hfLoRA + "}"}, {text: hfLoRA + fourBit + "}"}, {text: hfBase + ", use_liger_kernel: true}"}, {text: hfBase + ", eval_strategy: steps}"}},
	"trl-script": {{text: trlBase + "}"}, {text: trlBase + ", eval_strategy: steps}", gpus: 4}, {text: trlBase + ", fsdp: full_shard}", gpus: 4}, {text: trlBase + ", per_device_eval_batch_size: 1}"}, {text: trlBase + "}", beside: olderTRL}, {text: trlBase + ", use_liger_kernel: true}", beside: olderTRL},
		{text: trlLoRA + "}"}, {text: trlLoRA + fourBit + "}"}, {text: trlBase + ", use_liger_kernel: true}"}, {text: trlBase + ", eval_strategy: steps}"}},
	"xtuner":         {{text: xtunerBase + "}}"}, {text: xtunerBase + ", lora: {r: 8}}}"}, {text: strings.Replace(xtunerBase, "gpt2}", "gpt2, quantization_config: {load_in_4bit: true}}", 1) + ", lora: {r: 8}}}"}},
	"nanogpt":        {{text: "{batch_size: 4, block_size: 64, n_layer: 2, n_head: 2, n_embd: 64, gradient_accumulation_steps: 2, compile: false}"}},
	"nanogpt-own":    {{text: "{batch_size: 4, block_size: 64, gradient_accumulation_steps: 2}"}},
	"shell":          {{text: hfBase + "}"}, {text: hfBase + ", fsdp: full_shard, nproc_per_node: 4}"}, {text: ownBase + "}"}, {text: ownLoRA + "}"}, {text: ownLoRA + fourBit + "}"}, {text: hfBase + ", nproc_per_node: 4}"}, {text: hfBase + ", eval_strategy: steps}"}, {text: ownBase + ", nproc_per_node: 4}"}},
	"deepspeed-chat": {{text: chatBase + "}"}, {text: chatBase + ", zero_stage: 2, num_gpus: 4}"}, {text: chatBase + ", lora_dim: 8}"}, {text: chatBase + ", num_gpus: 4}"}},
	"openrlhf":       {{text: rlhfBase + "}", program: rlhfProgram}, {text: rlhfBase + ", num_gpus: 4}", program: rlhfProgram}, {text: rlhfBase + ", lora: {rank: 8}}", program: rlhfProgram}},
	"open-instruct":  {{text: instructBase + "}"}, {text: instructBase + ", use_lora: true}"}, {text: instructBase + ", use_lora: true, use_qlora: true}"}},
	"open-instruct-script": {{text: instructBase + "}", program: instructProgram}, {text: instructBase + ", use_lora: true}", program: instructProgram}, {text: instructBase + ", use_lora: true, use_qlora: true}", program: instructProgram},
		{text: instructBase + ", mixed_precision: bf16, num_processes: 4}", program: instructProgram}, {text: instructBase + ", use_fsdp: true, num_processes: 4}", program: instructProgram}},
	"qlora": {{text: qloraBase + "}", program: "qlora.py"}, {text: qloraBase + ", bits: 16}", program: "qlora.py"}, {text: qloraBase + ", full_finetune: true, bits: 16}", program: "qlora.py"}, {text: qloraBase + ", bits: 16, num_processes: 4, use_fsdp: true}", program: "qlora.py"},
		{text: qloraBase + ", bits: 16, num_processes: 4}", program: "qlora.py"}, {text: qloraBase + ", bits: 16, eval_strategy: steps}", program: "qlora.py"}, {text: qloraBase + ", bits: 16, use_liger_kernel: true}", program: "qlora.py"}, {text: qloraBase + ", fsdp: full_shard, num_processes: 4, bits: 16}", program: "qlora.py"}},
	"diffusers": {{text: diffusersBase + "}", program: "train_text_to_image.py"}, {text: diffusersBase + ", num_processes: 4}", program: "train_text_to_image.py"},
		{text: diffusersBase + ", use_fsdp: true, num_processes: 4}", program: "train_text_to_image.py"}},
	"diffusers-lora": {{text: diffusersBase + "}", program: "train_text_to_image_lora.py"}, {text: diffusersBase + ", num_processes: 4}", program: "train_text_to_image_lora.py"},
		{text: diffusersBase + ", use_fsdp: true, num_processes: 4}", program: "train_text_to_image_lora.py"}},
	"qlora-script": {{text: qloraBase + "}"}, {text: qloraBase + ", bits: 16, eval_strategy: steps}", gpus: 4}, {text: qloraBase + ", bits: 16}"}, {text: qloraBase + ", full_finetune: true, bits: 16}"}, {text: qloraBase + ", bits: 16, eval_strategy: steps}"}, {text: qloraBase + ", bits: 16, use_liger_kernel: true}"},
		{text: qloraBase + ", fsdp: full_shard, bits: 16}", gpus: 4}, {text: qloraBase + ", bits: 16}", gpus: 4}},
	"lmflow": {{text: lmflowBase + "}"}, {text: lmflowBase + ", use_lora: true}"}, {text: lmflowBase + ", use_qlora: true, bf16: true}"}, {text: lmflowBase + ", num_processes: 4}"}, {text: lmflowBase + ", use_fsdp: true, num_processes: 4}"},
		{text: lmflowBase + ", eval_strategy: steps}"}, {text: lmflowBase + ", use_liger_kernel: true}"}, {text: lmflowBase + ", fsdp: full_shard, num_processes: 4}"}},
	"plain": {{text: ownBase + "}"}, {text: ownBase + ", accumulation_steps: 2}"}, {text: ownLoRA + "}"}, {text: ownLoRA + fourBit + "}"}, {text: ownBase + ", devices: 4}"}},
}

// shellCommands are the commands that identify a trainer's scripts.
var shellCommands = map[string]string{"ms-swift-shell": "swift sft", "llama-factory-shell": "llamafactory-cli train"}

// ownCode is the code that marks a program as a trainer's, by system.
var ownCode = map[string]string{"qlora-script": "def get_accelerate_model(args):\n    return find_all_linear_names(args)\n", "nanogpt-own": "class Net(nn.Module):\n    pass\n"}

// weightless are the settings that use no GPU memory, and why they are read anyway.
var weightless = map[string]string{
	"workers":    "the processes that load data; snug optimize shows them",
	"lora.alpha": "a factor; snug estimate notes it if it is given to it, and every file with adapters has it",
}

// TestNoKeyDoesNothing checks that for every key of every system, a value other than the default changes the setup, is
// refused, or is named in a warning. TestNoFieldDoesNothing in package cli does the same for the setup's fields.
func TestNoKeyDoesNothing(t *testing.T) {
	for _, a := range systems.All() {
		bases := keyBases[a.Name]
		if len(bases) == 0 {
			t.Errorf("%s has no base", a.Name)
		}
		for _, b := range bases {
			if got := heard(t, a, b, "", nil); strings.HasPrefix(got, "error") {
				t.Errorf("%s: the base %s is refused: %s", a.Name, b.text, got)
			}
		}
		keys := a.Keys().All
		for i := range keys {
			k := &keys[i]
			if k.Path == "" || weightless[k.Setting] != "" || k.Kind == systems.Schedule && a.Formats[0] == doc.Shell { // a flag cannot be a map
				continue
			}
			if !slices.ContainsFunc(bases, func(b keyBase) bool { return doesSomething(t, a, b, k) }) {
				t.Errorf("%s: %s (%s, %s) does nothing in any base", a.Name, k.Path, k.Setting, k.Kind)
			}
		}
	}
}

// doesSomething reports whether a value of a key changes how a base is read, either as is or without the base's other
// keys for the same setting.
func doesSomething(t *testing.T, a *systems.System, b keyBase, k *systems.Key) bool {
	alone := b
	alone.without = k.Setting
	for _, base := range []keyBase{b, alone} {
		before := heard(t, a, base, "", nil)
		if slices.ContainsFunc(keyValues(k), func(v any) bool { return heard(t, a, base, k.Path, v) != before }) {
			return true
		}
	}
	return false
}

// keyValues returns values to try for a key.
func keyValues(k *systems.Key) []any {
	switch k.Kind {
	case systems.Whole, systems.Above1:
		return []any{1, 2, 3, 64}
	case systems.Number:
		return []any{0.25}
	case systems.Above0:
		return []any{0.5, 0}
	case systems.Switch:
		return []any{true, false}
	case systems.Names:
		if k.Setting == "visible" {
			return []any{"0,1"}
		}
		return []any{[]string{"c_proj"}, []string{"axolotl.integrations.liger.LigerPlugin"}}
	case systems.Schedule:
		return []any{map[string]any{"0": 3}}
	case systems.Object:
		return []any{map[string]any{"n_layer": 3}}
	case systems.Slots:
		return []any{"localhost:0,1"}
	case systems.Word:
		var out []any
		for _, w := range slices.Concat(k.Words, k.Reads) {
			out = append(out, w.File)
		}
		return append(out, "another")
	case systems.Link:
		return []any{"missing" + append(k.Endings, ".json")[0]}
	case systems.Present:
		return []any{"x", 3}
	}
	return []any{"distilgpt2", "expandable_segments:True", "shakespeare_char"}
}

// heard returns everything that is read from a base with a key in it: the setup, the missing settings and the
// warnings.
func heard(t *testing.T, a *systems.System, b keyBase, path string, value any) string {
	t.Helper()
	files := fstest.MapFS{}
	for name, text := range b.beside {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	name, text := rendered(t, a, b, path, value)
	files[name] = &fstest.MapFile{Data: text}
	var names []string
	if b.beside == nil {
		names = []string{name}
	}
	p, err := Open(files, ".", names...)
	if err != nil {
		return "error: " + err.Error()
	}
	p.SetGPUs(b.gpus)
	fields := p.Fields()
	out, err := json.Marshal([]any{fields, p.Warnings(fields), p.Missing(), p.Accumulation()})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// rendered returns a base with a key in it, in the system's file format, and the file's name.
func rendered(t *testing.T, a *systems.System, b keyBase, path string, value any) (string, []byte) {
	t.Helper()
	tree := map[string]any{}
	if err := yaml.Unmarshal([]byte(b.text), &tree); err != nil {
		t.Fatalf("%s: %v", b.text, err)
	}
	for _, k := range a.ForSetting(b.without) {
		takeOut(tree, strings.Split(strings.TrimPrefix(k.Path, "**."), "."))
	}
	if path != "" {
		putAt(tree, strings.Split(strings.TrimPrefix(path, "**."), "."), value)
	}
	switch format := a.Formats[0]; format {
	case doc.TOML:
		out, err := toml.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		return "a.toml", out
	case doc.Python:
		return "a.py", pythonOf(a, tree, path)
	case doc.Shell:
		return "a.sh", shellOf(cmp.Or(shellCommands[a.Name], "python "+cmp.Or(b.program, "train.py")), tree)
	default:
		out, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		if format == doc.JSON && a.Tied {
			return "ds.json", out
		}
		return "a.yaml", out
	}
}

// takeOut removes a key from a tree.
func takeOut(tree map[string]any, steps []string) {
	if len(steps) == 1 {
		delete(tree, steps[0])
	} else if in, ok := tree[steps[0]].(map[string]any); ok {
		takeOut(in, steps[1:])
	}
}

// putAt puts a value into a tree; * is the first item of a list.
func putAt(tree map[string]any, steps []string, value any) {
	key := steps[0]
	if len(steps) == 1 {
		tree[key] = value
		return
	}
	if steps[1] == "*" {
		item := map[string]any{}
		if list, ok := tree[key].([]any); ok && len(list) > 0 {
			item, _ = list[0].(map[string]any)
		}
		if len(steps) == 2 {
			tree[key] = []any{value}
			return
		}
		if item == nil {
			item = map[string]any{}
		}
		putAt(item, steps[2:], value)
		tree[key] = []any{item}
		return
	}
	in, ok := tree[key].(map[string]any)
	if !ok {
		in = map[string]any{}
		tree[key] = in
	}
	putAt(in, steps[1:], value)
}

// pythonOf returns a script with the values as arguments of the trainer's call, or as assignments.
func pythonOf(a *systems.System, tree map[string]any, path string) []byte {
	var lines []string
	variable := ""
	for key, v := range tree {
		if isVariable(a, path) && key == strings.Split(strings.TrimPrefix(path, "**."), ".")[0] {
			variable = key + " = " + pyOf(v) + "\n"
			continue
		}
		lines = append(lines, key+"="+pyOf(v))
	}
	slices.Sort(lines)
	if a.For == nil {
		return []byte(strings.Join(lines, "\n") + "\n")
	}
	call := map[bool]string{true: "SFTConfig", false: "TrainingArguments"}[a.For.UsesTRL]
	return []byte(variable + "args = " + call + "(" + strings.Join(lines, ", ") + ")\n" + ownCode[a.Name])
}

// isVariable reports whether a script's key is a common variable name rather than an argument of its trainer.
func isVariable(a *systems.System, path string) bool {
	return a.For != nil && path != "" && !slices.ContainsFunc(a.For.Keys().All, func(k systems.Key) bool {
		return strings.TrimPrefix(k.Path, "**.") == strings.TrimPrefix(path, "**.")
	})
}

// pyOf returns a value as a Python literal.
func pyOf(v any) string {
	switch v := v.(type) {
	case bool:
		return map[bool]string{true: "True", false: "False"}[v]
	case string:
		return fmt.Sprintf("%q", v)
	case map[string]any:
		var parts []string
		for key, x := range v {
			parts = append(parts, fmt.Sprintf("%q: %s", key, pyOf(x)))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ", ") + "}"
	case []any, []string:
		out, _ := json.Marshal(v)
		return string(out)
	}
	return fmt.Sprint(v)
}

// shellOf returns a command with the values as flags, nested ones as key=value arguments.
func shellOf(command string, tree map[string]any) []byte {
	var parts []string
	for key, v := range tree {
		switch v := v.(type) {
		case map[string]any:
			for inner, x := range v {
				parts = append(parts, fmt.Sprintf("%s.%s=%v", key, inner, x))
			}
		case []any:
			parts = append(parts, fmt.Sprintf("--%s %v", key, v[0]))
		case []string:
			parts = append(parts, fmt.Sprintf("--%s %v", key, v[0]))
		default:
			parts = append(parts, fmt.Sprintf("--%s %v", key, v))
		}
	}
	slices.Sort(parts)
	return []byte(command + " " + strings.Join(parts, " ") + "\n")
}
