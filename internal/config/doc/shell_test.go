// SPDX-License-Identifier: Apache-2.0

package doc

import "testing"

const script = `#!/bin/bash
# --batch 99 in a comment
set -euo pipefail
export CUDA_VISIBLE_DEVICES=0,1
BATCH=8   # micro
ACC=${ACC:-4}
EVAL="16"
OUT=out/bs$BATCH
cat <<EOF > ds.json
{"train": --heredoc 1}
EOF
torchrun --nproc_per_node=2 \
    train.py \
    --per_device_train_batch_size $BATCH \
    --gradient_accumulation_steps "$ACC" \
    --per_device_eval_batch_size="${EVAL}" \
    --learning_rate 1e-4 --warmup -1 \
    --output_dir "$OUT" \
    --bf16 True --name 'a b' \
    --gradient_checkpointing \
    trainer.epochs=3 +data.workers=4
ARGS=(
  --seq 128
  --packing true
)
CMD="python other.py --seed 1 --x $BATCH"
`

func TestShell(t *testing.T) {
	replace := func(old, now string) string { return replaceOnce(t, script, old, now) }
	testEdits(t, "train.sh", []editCase{
		{name: "variable", before: script, path: "BATCH", value: 16, after: replace("BATCH=8 ", "BATCH=16 ")},
		{name: "shared variable", before: script, path: "--per_device_train_batch_size", value: 16, err: ErrShared, says: "--x (line 26)"},
		{name: "through a variable with a fallback", before: script, path: "--gradient_accumulation_steps", value: 16, after: replace(":-4}", ":-16}")},
		{name: "through a quoted variable", before: script, path: "--per_device_eval_batch_size", value: 2, after: replace(`"16"`, `"2"`)},
		{name: "flag", before: script, path: "--learning_rate", value: 2e-5, after: replace("1e-4", "2.0e-05")},
		{name: "negative", before: script, path: "--warmup", value: 10, after: replace("--warmup -1", "--warmup 10")},
		{name: "with an equals sign", before: script, path: "--nproc_per_node", value: 4, after: replace("node=2", "node=4")},
		{name: "True", before: script, path: "--bf16", value: false, after: replace("--bf16 True", "--bf16 False")},
		{name: "quotes", before: script, path: "--name", value: "c d", after: replace("'a b'", "'c d'")},
		{name: "override", before: script, path: `"trainer.epochs"`, value: 5, after: replace("epochs=3", "epochs=5")},
		{name: "override with a plus", before: script, path: `"data.workers"`, value: 5, after: replace("workers=4", "workers=5")},
		{name: "array", before: script, path: "--seq", value: 256, after: replace("--seq 128", "--seq 256")},
		{name: "quoted command", before: script, path: "--seed", value: 2, after: replace("--seed 1", "--seed 2")},
		{name: "carriage returns", before: "a=1\r\npython x --b 2 \\\r\n  --c 3\r\n", path: "--c", value: 4, after: "a=1\r\npython x --b 2 \\\r\n  --c 4\r\n"},
		{name: "put together", before: script, path: "OUT", value: "x", err: ErrFixed},
		{name: "switch", before: script, path: "--gradient_checkpointing", value: false, err: ErrFixed},
		{name: "in a comment", before: script, path: "--batch", value: 1, err: ErrNotFound},
		{name: "in a here-document", before: script, path: "--heredoc", value: 1, err: ErrNotFound},
		{name: "twice", before: "x --a 1\ny --a 2\n", path: "--a", value: 3, err: ErrAmbiguous, says: "--a#1, --a#2"},
		{name: "the second", before: "x --a 1\ny --a 2\n", path: "--a#2", value: 3, after: "x --a 1\ny --a 3\n"},
		{name: "again in one command", before: "x --a 1 --b --a 2\n", path: "--a", value: 3, after: "x --a 1 --b --a 3\n"},
		{name: "a switch given a value later", before: "x --a --b 1 --a False\n", path: "--a", value: true, after: "x --a --b 1 --a True\n"},
		{name: "again in an array", before: "A=(--a 1 --a=2)\nx \"${A[@]}\"\n", path: "--a", value: 3, after: "A=(--a 1 --a=3)\nx \"${A[@]}\"\n"},
		{name: "circle", before: "a=$b\nb=$a\nx --c $a\n", path: "--c", value: 3, err: ErrFixed},
		{name: "needs quotes", before: "x --a 1\n", path: "--a", value: "b c", after: "x --a 'b c'\n"},
		{name: "dollar", before: "x --a 1\n", path: "--a", value: "$(rm)", err: ErrKind},

		{name: "an argument of a function", before: "f() { x --a $1 --b 2; }\nf 4\n", path: "--a", value: 8, after: "f() { x --a $1 --b 2; }\nf 8\n"},
		{name: "two uses of an argument", before: "f() { x --a $1 --b $1; }\nf 4\n", path: "--b", value: 8, err: ErrFixed, says: "several flags get the same text"},
		{name: "a number that follows from another", before: "A=4\nB=$((64 / A))\nx --a $A --b $B\n", path: "--a", value: 8, err: ErrShared, says: "B (line 2)"},
		{name: "a computed number", before: "A=4\nx --a $A --b $((A * 2))\n", path: "--b", value: 8, err: ErrFixed},
		{name: "a name that follows from a number", before: "A=4\nx --a $A --out run$A\n", path: "--a", value: 8, after: "A=8\nx --a $A --out run$A\n"},
		{name: "the value in force", before: "A=4\nA=8\nx --a $A\n", path: "--a", value: 2, after: "A=4\nA=2\nx --a $A\n"},
		{name: "a text of flags in two commands", before: "S=\"--a 4\"\nx $S\ny $S\n", path: "--a", value: 8, after: "S=\"--a 8\"\nx $S\ny $S\n"},
		{name: "added flags", before: "S=\"--a 4\"\nS+=\" --b 2\"\nx $S\n", path: "--b", value: 8, after: "S=\"--a 4\"\nS+=\" --b 8\"\nx $S\n"},
		{name: "several values in turn", before: "for a in 1 2; do x --a $a --b 3; done\n", path: "--a", value: 8, err: ErrFixed, says: "several values in turn: 1, 2"},
		{name: "a pattern of case", before: "case x in --a) y --b 1;; esac\nz --c 1\n", path: "--a", value: 8, err: ErrNotFound},
		{name: "a quoted value after an equals sign", before: "x --a=\"4\"\n", path: "--a", value: 8, after: "x --a=\"8\"\n"},
		{name: "a variable after an equals sign", before: "A=4\nx --a=\"$A\"\n", path: "--a", value: 8, after: "A=8\nx --a=\"$A\"\n"},
		{name: "an array's variable", before: "A=4\nL=(--a $A)\nx \"${L[@]}\"\n", path: "--a", value: 8, after: "A=8\nL=(--a $A)\nx \"${L[@]}\"\n"},

		{name: "insert on a line", insert: true, before: script, path: "--bs", value: 1, after: replace("workers=4\n", "workers=4 \\\n    --bs 1\n")},
		{name: "insert in line", insert: true, before: "x --a=1 --b=2; y\n", path: "--c", value: true, after: "x --a=1 --b=2 --c=true; y\n"},
		{name: "insert a variable below directives", insert: true, before: "#!/bin/sh\r\n#SBATCH -n 1\r\n\r\nx --a 1\r\n", path: "VAR", value: "a:True",
			after: "#!/bin/sh\r\n#SBATCH -n 1\r\n\r\nexport VAR=a:True\r\nx --a 1\r\n"},
		{name: "insert a variable at the top", insert: true, before: "x --a 1", path: "VAR", value: "a:True", after: "export VAR=a:True\nx --a 1"},
		{name: "insert nowhere", insert: true, before: "x\n", path: "--c", value: true, err: ErrFixed},
	})
}
