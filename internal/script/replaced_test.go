// SPDX-License-Identifier: Apache-2.0

package script_test

import (
	"strings"
	"testing"
)

// wrapping defines modules that a script uses to replace the model's layers.
const wrapping = `from torch import nn
from transformers.pytorch_utils import Conv1D
class Passes(nn.Module):
    def __init__(self, old):
        super().__init__()
        self.old = old
    def forward(self, x):
        return self.old(x)
class Lora(nn.Module):
    def __init__(self, old):
        super().__init__()
        self.old = old
        self.a = nn.Parameter(torch.zeros(old.weight.shape[0], 8))
        self.b = nn.Parameter(torch.zeros(8, old.weight.shape[1]))
    def forward(self, x):
        return self.old(x) + x @ self.a @ self.b
model.requires_grad_(False)
`

// ways are the ways in which scripts insert a module into a model.
var ways = map[string]string{
	"setattr":   "for n, m in list(model.named_modules()):\n    if n.endswith(('c_attn', 'c_fc')):\n        parent, child = n.rsplit('.', 1)\n        setattr(model.get_submodule(parent), child, Lora(m))\n",
	"_modules":  "parts = dict(model.named_modules())\nfor n, m in list(parts.items()):\n    parent, _, child = n.rpartition('.')\n    if child in ('c_attn', 'c_fc'):\n        parts[parent]._modules[child] = Lora(m)\n",
	"recursion": "def walk(module):\n    for name, child in module.named_children():\n        if name in ('c_attn', 'c_fc'):\n            setattr(module, name, Lora(child))\n        else:\n            walk(child)\nwalk(model)\n",
	"attribute": "for block in model.transformer.h:\n    block.attn.c_attn = Lora(block.attn.c_attn)\n    block.mlp.c_fc = Lora(block.mlp.c_fc)\n",
}

// TestReplacedLayers checks that adapters are counted however a script inserts them into the model.
func TestReplacedLayers(t *testing.T) {
	model := strings.Replace(training, "opt = torch.optim.AdamW(model.parameters())\n", "", 1) + wrapping
	after := "model.cuda()\nopt = torch.optim.AdamW([p for n, p in model.named_parameters() if p.requires_grad and n.endswith(('.a', '.b'))])\n" + strings.Replace(batches, "%s", "", 1)
	for name, way := range ways {
		t.Run(name, func(t *testing.T) { same(t, model+way+after, model+ways["attribute"]+after) })
	}
	res, _, err := follow(t, model+ways["attribute"]+after)
	if err != nil {
		t.Fatal(err)
	}
	if trained := res.Trainable; trained != 8*(64+192)+8*(64+256) {
		t.Errorf("%d elements are trained, want those of the adapters", trained)
	}
}

// TestReplacedCheckpoints checks that a replacement that only calls the model's own module changes nothing, even in
// checkpoints, which call it again.
func TestReplacedCheckpoints(t *testing.T) {
	model := strings.Replace(training, "opt = torch.optim.AdamW(model.parameters())\n", "", 1) + strings.Replace(wrapping, "model.requires_grad_(False)\n", "", 1)
	after := "opt = torch.optim.AdamW(model.parameters())\n" + strings.Replace(batches, "%s", "", 1)
	passes := "for block in model.transformer.h:\n    block.mlp.c_fc = Passes(block.mlp.c_fc)\n    block.attn.c_proj = Passes(Passes(block.attn.c_proj))\n"
	for name, x := range map[string]struct{ wrap, mode string }{
		"plain":          {passes, ""},
		"newer":          {passes, "model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={'use_reentrant': False})\nmodel.train()\n"},
		"reentrant":      {passes, "model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={'use_reentrant': True})\nmodel.train()\n"},
		"twice":          {passes + "for block in model.transformer.h:\n    block.mlp.c_fc = Passes(block.mlp.c_fc)\n", ""},
		"its own weight": {"head = nn.Linear(64, 1000, bias=False)\nhead.weight = model.lm_head.weight\nmodel.lm_head = head\n", ""},
	} {
		t.Run(name, func(t *testing.T) { same(t, model+x.wrap+x.mode+after, model+x.mode+after) })
	}
}

// TestReplacedWeights checks that the weight of a replaced layer is freed.
func TestReplacedWeights(t *testing.T) {
	model := strings.Replace(training, "opt = torch.optim.AdamW(model.parameters())\n", "", 1) + "from torch import nn\n"
	after := "opt = torch.optim.SGD(model.parameters(), lr=0.1)\n" + strings.Replace(batches, "%s", "", 1)
	same(t, model+"model.transformer.h[0].mlp.c_fc = nn.Linear(64, 256).cuda()\n"+after, model+after)
}
