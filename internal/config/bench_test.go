// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// trainingScript returns a script of about 2,000 lines that uses transformers' Trainer, as in a mature
// project: options, its own model, data, helpers.
func trainingScript() string {
	var b strings.Builder
	b.WriteString("import argparse\nimport torch\nfrom transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n\nBATCH_SIZE = 8\n")
	for i := range 60 {
		fmt.Fprintf(&b, "parser.add_argument(\"--option_%d\", type=int, default=%d, help=\"what option %[1]d is for\")\n", i, i)
	}
	for i := range 25 {
		fmt.Fprintf(&b, "\n\nclass Layer%d(torch.nn.Module):\n    \"\"\"A layer of our own.\"\"\"\n\n    width: int = %d\n\n    def __init__(self, width, dropout=0.1):\n        super().__init__()\n", i, 64*i)
		for j := range 12 {
			fmt.Fprintf(&b, "        self.linear_%d = torch.nn.Linear(width, 4 * width, bias=False)  # see the paper\n", j)
		}
		b.WriteString("\n    def forward(self, x):\n        for layer in self.layers:\n            x = layer(x) + x\n        return x\n")
	}
	for i := range 100 {
		fmt.Fprintf(&b, "\n\ndef helper_%d(samples, tokenizer, limit=%d):\n    \"\"\"Turns samples into tokens.\"\"\"\n    out = []\n    table = {\"ids\": [1, 2, 3], 'mask': None}\n    for sample in samples:\n        out.append(tokenizer(sample[\"text\"], max_len=limit))\n    return out\n", i, i)
	}
	b.WriteString("\n\ndef main():\n    model = AutoModelForCausalLM.from_pretrained(\"gpt2\")\n    args = TrainingArguments(\n        output_dir=\"out\",\n        per_device_train_batch_size=BATCH_SIZE,\n")
	b.WriteString("        gradient_accumulation_steps=4,\n        bf16=True,\n        max_grad_norm=1.0,\n    )\n    Trainer(model=model, args=args).train()\n\n\nif __name__ == \"__main__\":\n    main()\n")
	for b.Len() < 80_000 {
		fmt.Fprintf(&b, "# What was tried on day %d, and what came of it: nothing.\n", b.Len())
	}
	return b.String()
}

// repeated returns a line n times, replacing each %d with its number.
func repeated(line string, n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(line, "%d", fmt.Sprint(i)))
	}
	return b.String()
}

// launchScript returns a shell script of 150 lines.
func launchScript() string {
	return "#!/bin/bash\nset -e\n" + repeated("VAR_%d=value_%d\n", 70) +
		"torchrun --nproc_per_node 1 train.py \\\n  --model_name_or_path gpt2 \\\n  --per_device_train_batch_size 8 \\\n" +
		repeated("  --flag_%d $VAR_%d \\\n", 70) + "  --max_seq_length 128\n"
}

// BenchmarkRead reads a project as an estimate does: its settings, what is missing, and its warnings.
func BenchmarkRead(b *testing.B) {
	for _, c := range []struct{ name, file, text string }{
		{"2000 lines of Python", "train.py", trainingScript()},
		{"150 lines of shell", "train.sh", launchScript()},
		{"10000 names of Python", "train.py", "batch_size = 8\n" + repeated("name_%d = %d\n", 10_000)},
		{"3000 functions of Python", "train.py", "batch_size = 8\n" + repeated("def function_%d(a, b):\n    x = %d\n    y = dict(a=%d, b='t')\n    return x\n\n", 3000)},
		{"40000 keys of TOML", "train.toml", "batch_size = 8\n" + repeated("key_%d = %d\n", 40_000)},
	} {
		b.Run(c.name, func(b *testing.B) {
			files := fstest.MapFS{c.file: &fstest.MapFile{Data: []byte(c.text)}}
			b.ReportAllocs()
			for b.Loop() {
				p, err := Open(files, ".", c.file)
				if err != nil {
					b.Fatal(err)
				}
				p.Missing()
				p.Warnings(p.Fields())
			}
		})
	}
}
