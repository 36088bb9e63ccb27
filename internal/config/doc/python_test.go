// SPDX-License-Identifier: Apache-2.0

package doc

import "testing"

const nano = `"""
batch_size = 99 in a docstring
"""
import os
# data
gradient_accumulation_steps = 5 * 8 # used to simulate larger batch sizes
batch_size = 12 # if gradient_accumulation_steps > 1, this is the micro-batch size
lr: float = 6e-4
dtype = 'bfloat16' if ok else 'float16'
name = "x" ; compile = True
data = dict(
    batch_size=4,  # nested
    opts={'lr': -1.5, "wd": None},
    sizes=[1, 2],
)
cfg.train.steps = 100
cfg["seed"] = 1
n = int(os.environ["N"])
model_args = dict(block=batch_size)
base = (
    "google/gemma-7b"  # needs 4.38
)

class Config:
    batch: int = 8  # field
    def f(self): return 1

def main():
    args = TrainingArguments(
        per_device_train_batch_size=8,
        bf16=True)
    if ok:
        args = None

parser.add_argument("-b", "--batch-size", type=int, default=512, help="x")
if __name__ == '__main__':
    epochs = 3
for i in range(3):
    loop = 1
gradient_accumulation_steps //= 2
`

func TestPython(t *testing.T) {
	replace := func(old, now string) string { return replaceOnce(t, nano, old, now) }
	testEdits(t, "train.py", []editCase{
		{name: "comment stays", before: nano, path: "batch_size", value: 16, after: replace("= 12 #", "= 16 #")},
		{name: "product", before: nano, path: "gradient_accumulation_steps", value: 4, after: replace("5 * 8", "4")},
		{name: "with a type", before: nano, path: "lr", value: 1e-5, after: replace("6e-4", "1.0e-05")},
		{name: "behind a semicolon", before: nano, path: "compile", value: false, after: replace("True\ndata", "False\ndata")},
		{name: "keyword", before: nano, path: "data.batch_size", value: 2, after: replace("size=4", "size=2")},
		{name: "dict in a call", before: nano, path: "data.opts.lr", value: 0.5, after: replace("-1.5", "0.5")},
		{name: "None", before: nano, path: "data.opts.wd", value: 1, after: replace("\"wd\": None", "\"wd\": 1")},
		{name: "attribute", before: nano, path: "cfg.train.steps", value: 5, after: replace("= 100", "= 5")},
		{name: "subscript", before: nano, path: "cfg.seed", value: 5, after: replace("\"seed\"] = 1", "\"seed\"] = 5")},
		{name: "field of a class", before: nano, path: "Config.batch", value: 5, after: replace("int = 8", "int = 5")},
		{name: "default of an argument", before: nano, path: "--batch-size", value: 64, after: replace("default=512", "default=64")},
		{name: "trainer without a name", before: "A.MyTrainer(m, args=T(a=1), b=(2)).train()\n", path: "MyTrainer.args.a", value: 2, after: "A.MyTrainer(m, args=T(a=2), b=(2)).train()\n"},
		{name: "under main", before: nano, path: "epochs", value: 5, after: replace("epochs = 3", "epochs = 5")},
		{name: "in parentheses", before: nano, path: "base", value: "gpt2", after: replace("google/gemma-7b", "gpt2")},
		{name: "through a name", before: nano, path: "model_args.block", value: 5, after: replace("= 12 #", "= 5 #")},
		{name: "call in a function", before: nano, path: "main.args.bf16", value: false, after: replace("bf16=True", "bf16=False")},
		{name: "in a function", before: "def main():\r\n  args = T(a = 1)\r\n", path: "main.args.a", value: 2, after: "def main():\r\n  args = T(a = 2)\r\n"},

		{name: "in a function on one line", before: "def f(x: int = 1) -> int: a = T(b=1); return tok(x, truncation=True, max_length=8)\nc = 2\n", path: "f.tok.max_length", value: 4, after: "def f(x: int = 1) -> int: a = T(b=1); return tok(x, truncation=True, max_length=4)\nc = 2\n"},
		{name: "after a function on one line", before: "def f(x): return x\nc = 2\n", path: "c", value: 4, after: "def f(x): return x\nc = 4\n"},
		{name: "in a tuple", before: "a, b = 1, 2\n", path: "b", value: 5, after: "a, b = 1, 5\n"},
		{name: "in brackets", before: "(a, c.d) = [1, f(2, 3)]\n", path: "a", value: 5, after: "(a, c.d) = [5, f(2, 3)]\n"},
		{name: "tuple from a call", before: "a, b = f()\n", path: "a", value: 5, err: ErrNotFound},
		{name: "item of a dict", before: "C = {\"n\": 1}\nx = T(a=C[\"n\"])\n", path: "x.a", value: 5, after: "C = {\"n\": 5}\nx = T(a=C[\"n\"])\n"},
		{name: "default of a parameter", before: "class D:\n  def __init__(self, n=1):\n    self.n = n\nD()\n", path: "D.__init__.self.n", value: 5, after: "class D:\n  def __init__(self, n=5):\n    self.n = n\nD()\n"},
		{name: "parameter that is passed", before: "class D:\n  def __init__(self, n=1):\n    self.n = n\nD(n=2)\n", path: "D.__init__.self.n", value: 5, err: ErrFixed},
		{name: "attribute of self", before: "class D:\n  def __init__(self):\n    self.n = 1\n  def f(self):\n    x = T(a=self.n)\n", path: "D.f.x.a", value: 5, after: "class D:\n  def __init__(self):\n    self.n = 5\n  def f(self):\n    x = T(a=self.n)\n"},
		{name: "class as an argument", before: "m = f(m, a.LoraConfig(r=8))\n", path: "m.LoraConfig.r", value: 5, after: "m = f(m, a.LoraConfig(r=5))\n"},

		{name: "expression", before: nano, path: "dtype", value: "x", err: ErrFixed},
		{name: "call", before: nano, path: "n", value: 4, err: ErrKind},
		{name: "in a loop", before: nano, path: "loop", value: 2, err: ErrNotFound},
		{name: "twice", before: "a = 1\na = 2\n", path: "a", value: 2, err: ErrAmbiguous, says: "a#1, a#2"},
		{name: "the second", before: "a = 1\na = 2\n", path: "a#2", value: 3, after: "a = 1\na = 3\n"},
		{name: "text of several lines", before: "a = '''b'''\n", path: "a", value: "x", err: ErrFixed},

		{name: "insert", insert: true, before: "a = 1 # b\n\ndef f():\n    pass\n", path: "c", value: true, after: "a = 1 # b\nc = True\n\ndef f():\n    pass\n"},
		{name: "insert an argument", insert: true, before: nano, path: "data.x", value: "y", after: replace("sizes=[1, 2],\n", "sizes=[1, 2],\n    x=\"y\",\n")},
		{name: "insert into a dict", insert: true, before: nano, path: "data.opts.x", value: "y", after: replace("None}", "None, 'x': 'y'}")},
		{name: "insert into a class", insert: true, before: nano, path: "Config.x", value: 1, after: replace("# field\n", "# field\n    x = 1\n")},
		{name: "insert into an empty call", insert: true, before: "a = T()\n", path: "a.b", value: 1, after: "a = T(b=1)\n"},
		{name: "insert after a place", insert: true, before: "a = T(x)\n", path: "a.b", value: 1, err: ErrFixed},
	})
}
