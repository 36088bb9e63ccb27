// SPDX-License-Identifier: Apache-2.0

package branches

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const declared = `
from dataclasses import dataclass, field
@dataclass
class Options:
    task: str = field(default="sft", metadata={"help": "what to train for"})
    fast: bool = False
    size: int = 4
    name: str = None
    needed: str
`

// TestExecuted checks which of the words A, B and C remain in a program.
func TestExecuted(t *testing.T) {
	for name, x := range map[string]struct {
		program string
		given   map[string]any
		want    string
	}{
		"given":                  {"if args.task == 'dpo':\n    A()\nelse:\n    B()\nC()\n", map[string]any{"task": "dpo"}, "AC"},
		"default":                {"if args.task == 'dpo':\n    A()\nelif args.task == 'sft':\n    B()\nelse:\n    C()\n", nil, "B"},
		"required":               {"if args.needed == 'x':\n    A()\nelse:\n    B()\n", nil, "AB"},
		"not plain":              {"if args.task == 'x':\n    A()\n", map[string]any{"task": Unknown{}}, "A"},
		"in a list":              {"if args.task in ['sft', 'pt']:\n    A()\nif args.task not in ('sft',):\n    B()\n", nil, "A"},
		"and":                    {"if args.fast and unknown():\n    A()\nif not args.fast or unknown():\n    B()\n", nil, "B"},
		"text":                   {"if 'llama' in args.name.lower():\n    A()\nif args.name.startswith('LL'):\n    B()\n", map[string]any{"name": "LLama"}, "AB"},
		"None":                   {"if args.name is None:\n    A()\nif args.name is not None:\n    B()\nif args.name:\n    C()\n", nil, "A"},
		"numbers":                {"if args.size > 2:\n    A()\nif args.size <= 2:\n    B()\n", nil, "A"},
		"number and text":        {"if args.size == '4':\n    A()\n", nil, "A"},
		"getattr":                {"if getattr(args, 'fast', True):\n    A()\nif getattr(args, 'other', True):\n    B()\n", nil, "B"},
		"a dict":                 {"if config['fast']:\n    A()\nif config.get('fast'):\n    B()\n", map[string]any{"fast": true}, "AB"},
		"another object":         {"if model.fast:\n    A()\n", nil, "A"},
		"section":                {"if cfg.train.fast:\n    A()\nif self.args.fast:\n    B()\n", nil, ""},
		"assigned":               {"args.fast = detect()\nif args.fast:\n    A()\n", nil, "A"},
		"assigned where unused":  {"if args.task == 'x':\n    args.fast = True\nif args.fast:\n    A()\n", nil, ""},
		"after return":           {"def main():\n    if args.task == 'sft':\n        A()\n        return\n    B()\nmain()\n", nil, "A"},
		"after raise and exit":   {"def main():\n    if args.fast:\n        raise E\n    A()\n    sys.exit(0)\n    B()\nmain()\n", nil, "A"},
		"unused function":        {"def f():\n    g()\ndef g():\n    A()\ndef h():\n    B()\nif args.fast:\n    f()\nelse:\n    h()\n", nil, "B"},
		"function without use":   {"def f():\n    A()\n", nil, "A"},
		"recursive function":     {"def f(n):\n    A()\n    f(n - 1)\nif args.fast:\n    f(3)\n", nil, ""},
		"variable":               {"def main():\n    kind = args.task\n    if kind == 'dpo':\n        A()\n    else:\n        B()\nmain()\n", nil, "B"},
		"variable of a branch":   {"if args.fast:\n    kind = 'a'\nelse:\n    kind = 'b'\nif kind == 'a':\n    A()\nelse:\n    B()\n", nil, "B"},
		"variable with a loop":   {"kind = 'a'\nfor kind in kinds:\n    if kind == 'a':\n        A()\n    else:\n        B()\n", nil, "AB"},
		"parameter":              {"def load(name, fast=False):\n    if fast:\n        A()\n    else:\n        B()\nload('x', fast=args.fast)\n", map[string]any{"fast": true}, "A"},
		"parameter's default":    {"def load(name, fast=False):\n    if fast:\n        A()\n    else:\n        B()\nload('x')\n", nil, "B"},
		"parameters of calls":    {"def load(fast):\n    if fast:\n        A()\n    else:\n        B()\nload(True)\nload(False)\n", nil, "AB"},
		"passed as a value":      {"def load(fast=False):\n    if fast:\n        A()\nrun(load)\n", nil, "A"},
		"fire":                   {"import fire\ndef train(fast: bool = False, slow=True):\n    if fast:\n        A()\n    if slow:\n        B()\nfire.Fire(train)\n", map[string]any{"slow": false}, ""},
		"main":                   {"if __name__ == '__main__':\n    A()\nelse:\n    B()\n", nil, "A"},
		"argparse":               {"p.add_argument('--quick-run', action='store_true')\np.add_argument('--b', default='x')\np.add_argument('-k', '--kind', required=True)\nif args.quick_run:\n    A()\nif args.b == 'x':\n    B()\nif args.kind == 'y':\n    C()\n", nil, "BC"},
		"one line":               {"if args.fast: A()\nelse: B()\n", nil, "B"},
		"match":                  {"match args.task:\n    case 'dpo':\n        A()\n    case 'sft':\n        B()\n    case _:\n        C()\n", nil, "B"},
		"conditional expression": {"trainer = A(1) if args.task == 'dpo' else B(2)\n", nil, "B"},
		"other declarations":     {"@dataclass\nclass More:\n    fast: bool = True\nif args.fast:\n    A()\n", nil, "A"},
		"not Python":             {"if args.fast\n    A()\n", nil, "A"},
		"with, try, while":       {"with x:\n    while True:\n        try:\n            if args.fast:\n                A()\n        except E:\n            B()\n        finally:\n            C()\n", nil, "BC"},
	} {
		t.Run(name, func(t *testing.T) {
			text := x.program
			p := Read(text, []string{declared}, x.given)
			got := ""
			for _, word := range []string{"A(", "B(", "C("} {
				if strings.Contains(p.Executed, word) {
					got += word[:1]
				}
			}
			if got != x.want {
				t.Errorf("executed %q, want %q:\n%s", got, x.want, p.Executed)
			}
			if len(p.Executed) != len(text) || strings.Count(p.Executed, "\n") != strings.Count(text, "\n") {
				t.Errorf("the text has moved:\n%s", p.Executed)
			}
		})
	}
}

// TestUndecided checks which condition an undecided line depends on, also through functions.
func TestUndecided(t *testing.T) {
	const program = "def f():\n    A()\nif args.needed == 'x':\n    B()\n    f()\nC()\n"
	p := Read(program, []string{declared}, nil)
	for line, want := range map[int]Condition{2: {3, []string{"needed"}}, 4: {3, []string{"needed"}}, 6: {}} {
		got, ok := p.Undecided(line)
		if diff := cmp.Diff(want, got); diff != "" || ok != (want.Line > 0) {
			t.Errorf("line %d: %s", line, diff)
		}
	}
}

// TestUndecidedCalls checks that a call in a branch of any undecided condition is marked.
func TestUndecidedCalls(t *testing.T) {
	const deep = "def f():\n    g()\ndef g():\n    h()\ndef h():\n    C(r=1)\nif __name__ == '__main__':\n    f()\n"
	p := Read(deep+"if ready():\n    A(r=1)\nif args.needed:\n    B(r=1)\n", []string{declared}, nil)
	for name, want := range map[string]bool{"A": true, "B": true, "C": false} {
		if got := p.Calls(name); len(got) != 1 || got[0].Undecided != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestCalls checks the arguments of executed calls.
func TestCalls(t *testing.T) {
	const program = `
def layers(model):
    return find(model)
def load(args):
    dtype = torch.float16 if args.fast else torch.bfloat16
    options = dict(torch_dtype=dtype, other=compute())
    names = layers(model)
    if args.task == "dpo":
        Config(r=1)
    return Model.from_pretrained(args.name, device_map=None, **options), Config(r=args.size, names=["q", "v"], targets=names, **args.more)
load(args)
`
	p := Read(program, []string{declared}, nil)
	got := append(p.Calls("from_pretrained"), p.Calls("Config")...)
	want := []Call{
		{Line: 10, Args: map[string]any{"device_map": nil, "torch_dtype": Name("torch.bfloat16")}, Passed: map[string]bool{"device_map": true, "torch_dtype": true, "other": true}, Whole: true},
		{Line: 10, Args: map[string]any{"r": 4.0, "names": []any{"q", "v"}, "targets": Result("layers")}, Passed: map[string]bool{"r": true, "names": true, "targets": true}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if skipped := Read("if args.fast:\n    Config(r=1)\n# Other(1)\n", []string{declared}, nil); !skipped.Skips("Config") || skipped.Skips("Other") || p.Skips("Config") {
		t.Error("a call is skipped if it is in the program and not executed")
	}
	if body := p.Function("layers"); body != "return find(model)" {
		t.Errorf("body is %q", body)
	}
}

// FuzzRead checks that any text can be read, and that nothing moves.
func FuzzRead(f *testing.F) {
	f.Add("def f(x):\n    if x.args.a: return\n    else: g()\nf(1)\n")
	f.Add("match a:\n  case 1: f()\n  case _: g()\n")
	f.Fuzz(func(t *testing.T, text string) {
		p := Read(text, []string{declared}, map[string]any{"task": "x"})
		if len(p.Executed) != len(text) {
			t.Errorf("length %d, want %d", len(p.Executed), len(text))
		}
	})
}
