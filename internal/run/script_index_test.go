// SPDX-License-Identifier: Apache-2.0

package run

import (
	"strings"
	"testing"
)

func TestScriptIndex(t *testing.T) {
	for line, want := range map[string]string{
		"/opt/venv/bin/python main.py --batch-size 64":                    "main.py",
		"python -u src/train.py --config x.py":                            "src/train.py",
		"python -m pkg.train --batch 2":                                   "pkg.train",
		"python3.11 -m torch.distributed.run --nproc_per_node 2 train.py": "train.py",
		"torchrun --nproc_per_node=2 -m pkg.train":                        "pkg.train",
		"accelerate launch --config_file acc.yaml train.py":               "train.py",
		"uv run --with x python train.py":                                 "train.py",
		"uv run train.py":                                                 "train.py",
		"bash -e run.sh conf.py":                                          "run.sh",
		"./train.sh 2":                                                    "./train.sh",
		"nice -n 10 deepspeed --num_gpus 1 train.PY":                      "train.PY",
		"torchrun --script=a.py train.py":                                 "train.py",
		"bash -c 'python train.py'":                                       "",
		"axolotl train run.yml":                                           "",
		"python -m":                                                       "",
		"":                                                                "",
	} {
		words, got := strings.Fields(line), ""
		if i := ScriptIndex(words); i >= 0 {
			got = words[i]
		}
		if got != want {
			t.Errorf("%q runs %q, want %q", line, got, want)
		}
	}
}
