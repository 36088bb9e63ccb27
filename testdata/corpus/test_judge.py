# SPDX-License-Identifier: Apache-2.0
"""Tests the judge with made-up runs: python3 -m unittest discover testdata/corpus"""
import os
import tempfile
import unittest

import facts
import judge
import reading
import reasons
import runs
import score

REPORT = """some/model-7b takes 20.00 GiB of GPU memory
Name a card with --gpu to see whether it fits.

7,000,000,000 parameters, all trained
batch 2 of 1,024 tokens, accumulation 4, amp-bf16, weights in bf16 as saved,
checkpointing, loop of trainer, adamw-fused, sdpa attention,
{more}PyTorch 2.11, transformers 5.17 assumed
settings of {path} ({system})"""


class Shell(unittest.TestCase):
    def test_variables_arrays_and_lists(self):
        commands, _ = reading.shell_commands('N=${GPUS:-4}\nARGS=(\n --lr 1e-4\n)\ntorchrun --nproc_per_node $N train.py \\\n  --target_modules q v "${ARGS[@]}"\n')
        got = reading.flags(commands[0])
        self.assertEqual((got["nproc_per_node"], got["target_modules"]), ("4", "q v"))
        self.assertEqual(runs.training_command(commands[0]), "train.py")

    def test_only_executed_branches_count(self):
        commands, _ = reading.shell_commands('MODE=${MODE:-ft}\nEXTRA=""\nif [ "$MODE" == "lora" ]; then\n  EXTRA="--lora"\nelif [ $MODE = ft ]; then\n  EXTRA="--full"\nelse\n  EXTRA="--other"\nfi\n'
                                             'if [ -z "$X" ]; then\n  EXTRA="$EXTRA --x"\nfi\npython train.py $EXTRA\n')
        self.assertEqual(commands[-1], ["python", "train.py", "--full", "--x"])

    def test_evaluation_is_no_run(self):
        commands, _ = reading.shell_commands("python evaluate.py --batch_size 8\necho python train.py")
        self.assertIsNone(runs.training_command(commands[0]))


class Setup(unittest.TestCase):
    def test_words_become_fields(self):
        got = score.setup(REPORT.format(path="a/nvfp4-qat.yaml", system="torchtitan (TOML, up to 0.2)", more="PEFT's LoRA rank 16 on q_proj v_proj, "))
        self.assertEqual([got[k] for k in ("batch", "seq", "accumulation", "precision", "rank", "bits", "system")],
                         [2, 1024, 4, "amp-bf16", 16, None, "torchtitan (TOML, up to 0.2)"])
        self.assertTrue(got["checkpointing"])


    def test_a_loop_at_the_start_of_a_line(self):
        self.assertIn("\nloop of trl-dpo,", score.shown("batch 2 of 64 tokens,\ntrl-dpo loop, adamw,\n  reserved"))

    def test_bits_heads_and_images(self):
        got = score.setup(REPORT.format(path="a.yaml", system="Axolotl", more="8-bit weights, question-answering head, 1 image of 512x512 per sample, "))
        self.assertEqual([got[k] for k in ("bits", "head", "pixels")], ["8", "question-answering", 262144])


class Verdict(unittest.TestCase):
    def judged(self, text, outcome="answered", **more):
        with tempfile.TemporaryDirectory() as corpus:
            os.makedirs(os.path.join(corpus, "who+what"))
            with open(os.path.join(corpus, "who+what", "run.yaml"), "w", encoding="utf-8") as f:
                f.write(text)
            got = dict(project="who/what", path="run.yaml", system="axolotl", kind="config", outcome=outcome, notes=[], **more)
            got.setdefault("shown", REPORT.format(path="run.yaml", system="Axolotl", more=""))
            return judge.verdict(corpus, got)

    BASE = "base_model: some/model-7b\nmicro_batch_size: 2\nsequence_len: 1024\ngradient_accumulation_steps: 4\nbf16: true\ngradient_checkpointing: true\n"

    def test_agreement_is_right(self):
        self.assertEqual(self.judged(self.BASE), ("right", []))

    def test_what_the_header_shows_is_right(self):
        for line, more in (("load_in_8bit: true", "8-bit weights, "), ("task_type: squad", "question-answering head, "), ("rl: dpo", "loop of axolotl-dpo, "), ("orpo_alpha: 0.1", "loop of trl-orpo, "),
                           ("image_max_pixels: 262144", "1 image of 512x512 per sample, "), ("image_resolution: 262144", "1 image of 512x512 per sample, "), ("image_min_pixels: 784", "1 image of 512x512 per sample, "), ("freeze_vision_tower: true", "vision projector frozen, ")):
            shown = REPORT.format(path="run.yaml", system="Axolotl", more=more)
            self.assertEqual(self.judged(self.BASE + line + "\n", shown=shown), ("right", []), line)
            self.assertEqual(self.judged(self.BASE + line + "\n")[0], "wrong", line)

    def test_the_number_of_images_is_in_no_file(self):
        error = "images: the model takes images, whose number and size depend on the data; give --images N"
        self.assertEqual(self.judged(self.BASE, "refused", error=error)[0], "helpful")
        self.assertEqual(self.judged(self.BASE + "num_images: 2\n", "refused", error=error)[0], "unhelpful")

    def test_each_difference_is_found(self):
        for line, cause in (("adapter: qlora", "LoRA is not in the answer"), ("rl: dpo", "objective: preferences"), ("qat:\n  weight_dtype: int4", "not used and not noted: qat"),
                            ("optimizer: lion_pytorch", "optimizer"), ("load_in_8bit: true", "8-bit weights are not in the answer"), ("pre_seq_len: 40", "objective: prefix"), ("mlm_probability: 0.8", "objective: masked-lm"), ("tensor_parallel_size: 2", "layers or samples split over GPUs")):
            kind, found = self.judged(self.BASE + line + "\n")
            self.assertEqual(kind, "wrong", line)
            self.assertIn(cause, [c for c, _ in found])
        kind, found = self.judged(self.BASE.replace("1024", "4096"))
        self.assertEqual((kind, found[0][0]), ("wrong", "length"))

    def test_another_systems_file(self):
        kind, found = self.judged(self.BASE, shown=REPORT.format(path="run.yaml", system="Hugging Face TrainingArguments", more=""))
        self.assertEqual(kind, "wrong")
        self.assertIn("read as", found[0][0])

    def test_refusals(self):
        for error, kind in (("training: run.yaml:1: rl dpo trains on pairs; this is not estimated; measure it", "unhelpful"),
                            ("model: no file names the model; give --model NAME", "unhelpful"),
                            ('run.yaml:1: model.name "some/model-7b" is not known; it is neither built in', "helpful"),
                            ('optimizer: run.yaml:3: "adamw_torch_fused" is not known to snug', "unhelpful")):
            self.assertEqual(self.judged(self.BASE, "refused", error=error)[0], kind, error)
        for text, error in (("HfArgumentParser(x)", "run.yaml:1: the program takes its settings from flags (HfArgumentParser); name the shell script that starts it"),
                            ("", "training: run.yaml: judging by its name (run), it trains on pairs; this is not estimated"),
                            ("num_labels: 3", "model.head: run.yaml:1: num_labels: the run classifies samples instead of predicting tokens; give its head with --head"),
                            ("python3 -m a.b.main_ppo", "training: run.yaml:1: a/b/main_ppo samples answers; this is not estimated")):
            self.assertEqual(self.judged(text, "refused", error=error)[0], "helpful", error)
        self.assertEqual(self.judged("", "refused", error="run.yaml:1: the program takes its settings from flags (TrlParser); name the shell script that starts it")[0], "unhelpful")
        for text, error, kind in (
                ("train_control_net: 1", "training: run.yaml: judging by its name (ru-n), it trains a diffusion model; this is not estimated", "helpful"),
                ("lora: true", "lora.rank: run.yaml:1: lora turns adapters on, but no file sets their rank; give --lora-rank N", "helpful"),
                ("lora_r: 8", "lora.rank: run.yaml:1: lora turns adapters on, but no file sets their rank; give --lora-rank N", "unhelpful"),
                ("lora: true", "lora.rank: run.yaml:1: lora turns adapters on, but the program computes their rank (run.yaml:3: LoraConfig); give --lora-rank N", "helpful"),
                ("lora: true", "lora.rank: run.yaml:1: lora turns adapters on, but the program computes their rank (none.py:3: LoraConfig); give --lora-rank N", "unhelpful"),
                ("x: 1", "model: run.yaml:1: --model is not known: it takes several values in turn: a, b; give --model NAME", "helpful"),
                ("x: 1", 'run.yaml:1: model.name "who/llama-7b-x" is not known; it is neither built in', "unhelpful")):
            self.assertEqual(self.judged(text, "refused", error=error)[0], kind, error)
        own = "run.yaml:1: OwnForCausalLM is a model class of the project's own, and its code cannot be followed; record the run"
        self.assertEqual([self.judged(text, "refused", error=own)[0] for text in ("m = OwnForCausalLM()", "m = Other()")], ["helpful", "unhelpful"])
        texts = "run.yaml:1: the number of texts in a sample depends on the data; give it with --positives"
        self.assertEqual([self.judged(text, "refused", error=texts)[0] for text in ("t = SomeTrainer(x)", "x = 1")], ["helpful", "unhelpful"])
        self.assertEqual(self.judged(self.BASE + "rl: dpo\n", "refused", error="training: run.yaml:7: rl dpo trains on pairs; this is not estimated")[0], "helpful")


class Programs(unittest.TestCase):
    def test_unused_constants_are_no_settings(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.py")
            with open(path, "w", encoding="utf-8") as f:
                f.write("max_seq_length = 75\nbatch_size = 4\ntrain(batch_size)\n")
            keys = {k for k, _, _ in facts.program(path, "a.py")}
        self.assertIn("batch_size", keys)
        self.assertNotIn("max_seq_length", keys)


class Reasons(unittest.TestCase):
    def test_each_reason(self):
        for error, want in (("training: a.sh:1: --rlhf_type dpo trains on pairs of answers; this is not estimated", "another objective"),
                            ("weights: a.yml:1: load_in_8bit quantizes weights in a way that is not simulated yet", "another method"),
                            ('a.yaml:1: model.name "x/y" is a MiniCPM model, which is not simulated; measure the run', "the family is not simulated"),
                            ('a.yaml:1: model.name "x/y" is not known; did you mean z?', "an unknown name"),
                            ("--seq is missing; give the tokens per sample (gpt2 accepts up to 1024), or --lengths", "the files lack settings")):
            self.assertEqual(reasons.reason(dict(outcome="refused", system="x", error=error))[0], want, error)
        self.assertEqual(reasons.reason(dict(outcome="answered"))[0], "answered")


if __name__ == "__main__":
    unittest.main()
