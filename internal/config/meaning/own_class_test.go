// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"strings"
	"testing"
	"testing/fstest"

	"snug/internal/config/projects"
)

// TestOwnClass checks which programs train a model class that the project defines.
func TestOwnClass(t *testing.T) {
	const run = "torchrun train.py --model_name_or_path gpt2 --per_device_train_batch_size 4 --max_seq_length 64 --kind pair\n"
	const trainer = "t = Trainer(model=m)\nt.train()\n"
	for name, x := range map[string]struct {
		program, module, want string
	}{
		"imported":                  {"from nets.two import PairForRanking\nm = PairForRanking.from_pretrained(n)\n" + trainer, "class PairForRanking(BertPreTrainedModel):\n    pass\n", "train.py:2: PairForRanking"},
		"all names of a package":    {"from nets import *\nm = PairForRanking.from_pretrained(n)\n" + trainer, "class PairForRanking(BertPreTrainedModel):\n    pass\n", "train.py:2: PairForRanking"},
		"without a base":            {"from nets.two import AutoModelForPairs\nm = AutoModelForPairs.from_pretrained(n)\n" + trainer, "class AutoModelForPairs:\n    pass\n", "train.py:2: AutoModelForPairs"},
		"in a table":                {"from nets.two import PairForRanking\nT = {'bert': (BertConfig, PairForRanking, BertTokenizer)}\nm = T[k][1].from_pretrained(n)\n" + trainer, "class PairForRanking(BertPreTrainedModel):\n    pass\n", "train.py:2: PairForRanking"},
		"in the module that trains": {"from nets.two import main\nmain()\n", "class PairForRanking(BertPreTrainedModel):\n    pass\ndef main():\n    m = PairForRanking.from_pretrained(n)\n    t = Trainer(model=m)\n    t.train()\n", "nets/two.py:4: PairForRanking"},
		"in its own file":           {"class PairForRanking(BertPreTrainedModel):\n    pass\nm = PairForRanking.from_pretrained(n)\n" + trainer, "", "train.py:3: PairForRanking"},
		"made from its config":      {"from nets.two import PairForRanking\nmodel = PairForRanking(config)\n" + trainer, "class PairForRanking(BertPreTrainedModel):\n    pass\n", "train.py:2: PairForRanking"},

		"the library's":      {"from transformers import AutoModelForCausalLM\nm = AutoModelForCausalLM.from_pretrained(n)\n" + trainer, "class PairForRanking(BertPreTrainedModel):\n    pass\n", ""},
		"another branch":     {"from nets.two import PairForRanking\nif args.kind == 'pair':\n    m = AutoModelForCausalLM.from_pretrained(n)\nelse:\n    m = PairForRanking.from_pretrained(n)\n" + trainer, "class PairForRanking(BertPreTrainedModel):\n    pass\n", ""},
		"only defined":       {"from nets.two import PairForRanking\nmodel = AutoModelForCausalLM.from_pretrained(n)\n" + trainer, "class PairForRanking(BertPreTrainedModel):\n    pass\n", ""},
		"a tokenizer":        {"from nets.two import PairTokenizer\nk = PairTokenizer.from_pretrained(n)\n" + trainer, "class PairTokenizer:\n    pass\n", ""},
		"only a test for it": {"from nets.two import PairForRanking\nif isinstance(m, (PairForRanking, Other)):\n    pass\n" + trainer, "class PairForRanking(BertPreTrainedModel):\n    pass\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := projects.Find(fstest.MapFS{
				"run.sh": {Data: []byte(run)}, "train.py": {Data: []byte(x.program)}, "nets/two.py": {Data: []byte(x.module)},
				"nets/__init__.py": {Data: []byte("try:\n    from .two import *\nexcept ImportError:\n    pass\n")},
			}, ".", "run.sh")
			if err != nil {
				t.Fatal(err)
			}
			if got := New(found).OwnClass(); !strings.HasPrefix(got, x.want) || x.want == "" && got != "" {
				t.Errorf("got %q, want %q", got, x.want)
			}
		})
	}
}

// TestOwnLoop checks that a program with its own loop is judged neither by its name nor by the names of classes that it defines.
func TestOwnLoop(t *testing.T) {
	const load = "from transformers import BertConfig, BertForMaskedLM\nteacher = BertForMaskedLM(BertConfig())\nargs = TrainingArguments(per_device_train_batch_size=2)\n"
	for text, refused := range map[string]bool{
		load + "loss.backward()\n": false,
		load + "class ContrastiveLoss(nn.Module):\n    pass\nloss_fn = ContrastiveLoss()\nloss.backward()\n": false,
		load + "accelerator.backward(loss)\n":                                false,
		load + "# loss.backward()\ntrain(teacher)\n":                         true,
		load + "from losses import ContrastiveLoss\nf = ContrastiveLoss()\n": true,
	} {
		found, err := projects.Find(fstest.MapFS{"distill_ner.py": {Data: []byte(text)}}, ".", "distill_ner.py")
		if err != nil {
			t.Fatal(err)
		}
		if got := New(found).otherObjective(); len(got) > 0 != refused {
			t.Errorf("%s: %v", text, got)
		}
	}
}
