// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"strings"

	"snug/internal/pattern"
)

// shellCommands are the trainers that scripts start.
var shellCommands = Commands{
	Starts: []Started{{startsSFT, &trl}, {startsSwift, &swift}, {startsFactory, &llamaFactory}},
	Refuses: []RefusedCommand{{startsMegatron, trainsMegatron}, {startsRLHF, samplesOrCompares}, {startsAdapter, "trains LLaMA-Adapter's prompts"},
		{startsFairseq, "builds fairseq's own models"}, {startsVerl, "trains with verl's own loop over FSDP"}},
	Parses:      []Started{{parsesSFT, &trl}, {trlScript.Makes, &trl}, {hfScript.Makes, &hf}, {parsesHF, &hf}},
	Flag:        TrainerBatch,
	Trainer:     &hf,
	OwnDefaults: othersDefaults,
	PEFT:        startsPEFT,
}

// startsSFT matches TRL's command and the program that it runs, by its path in the repository or as a module. The
// command's flags are the keys of TRL's files.
var startsSFT = pattern.New(`(?m)^[^#\n]*?(?:^|[\s;&|("'/])(?:trl\s+sft\s|trl/scripts/sft\.py\b|trl\.scripts\.sft\b)`, "trl")

// startsMegatron matches ms-swift's command for Megatron-Core, and startsRLHF its command for other objectives, of
// which DPO is the default (ms-swift 4.6, arguments/rlhf_args.py).
var (
	startsMegatron = pattern.New(`(?m)^[^#\n]*?(?:^|[\s;&|("'/])(megatron\s+(?:sft|pt|rlhf)|swift/cli/_megatron/\w+\.py)\b`, "megatron")
	startsRLHF     = pattern.New(`(?m)^[^#\n]*?(?:^|[\s;&|("'/])(swift\s+rlhf|swift/cli/rlhf\.py)\b`, "swift")
)

// startsVerl matches verl's programs for supervised training. They shard with FSDP, pack tokens, and take the batch of all GPUs.
var startsVerl = pattern.New(`(?m)^[^#\n]*?(?:^|[\s;&|("'/])(verl[./]trainer[./](?:fsdp_)?sft_trainer\w*)`, "sft_trainer")

// startsFairseq matches fairseq's commands and the programs that they run.
var startsFairseq = pattern.New(`(?m)^[^#\n]*?(?:^|[\s;&|("'/])(fairseq-(?:hydra-)?train|fairseq_cli/(?:hydra_)?train\.py)\b`, "fairseq")

const samplesOrCompares = "trains on pairs of answers or on sampled ones, usually with a reference model"

// othersDefaults matches programs that accept TrainingArguments' flags but have other defaults: commands built on
// the trainer, transformers' examples that do not use the trainer, and open-instruct's programs for OLMo-core.
var othersDefaults = pattern.New(`(?:^|[\s;&|("'/])((?:trl|swift|megatron|llamafactory-cli|lmf)\s+[a-z]+|\w+_no_trainer\.py|olmo_core_finetune\.py)`,
	"trl", "swift", "megatron", "llamafactory-cli", "lmf", "_no_trainer.py", "olmo_core_finetune.py")

// startsPEFT matches commands that use PEFT's LoRA.
var startsPEFT = pattern.New(`(?:^|[\s;&|("'/])(?:trl|swift|llamafactory-cli|lmf)\s+[a-z]`,
	"trl", "swift", "llamafactory-cli", "lmf")

// parsesSFT matches a program whose flags are SFTConfig's: it passes the class to a parser instead of
// creating an SFTConfig itself.
var parsesSFT = pattern.New(`(?m)^[^#\n]*\b(?:TrlParser|HfArgumentParser)\(\s*(?:\w+\s*=\s*)?[(\[]?[^)\]]*\bSFTConfig\b`,
	"TrlParser(", "HfArgumentParser(")

// HasOwnParser reports whether a program defines its flags itself and mentions no trainer's arguments, so that its
// flags may have the trainer's names but other defaults.
func HasOwnParser(text string) bool {
	return ownParser.In(text) && !strings.Contains(text, "TrainingArguments") && !strings.Contains(text, "HfArgumentParser") && !strings.Contains(text, "SFTConfig")
}

// ownParser matches the call that creates the program's own parser.
var ownParser = pattern.New(`(?m)^[^#\n]*\bArgumentParser\(`, "ArgumentParser(")

// parsesHF matches a program whose flags are TrainingArguments'.
var parsesHF = pattern.New(`(?m)^[^#\n]*\bHfArgumentParser\(\s*(?:\w+\s*=\s*)?[(\[]?[^)\]]*\bTrainingArguments\b`, "HfArgumentParser(")
