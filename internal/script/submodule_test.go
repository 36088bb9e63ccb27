// SPDX-License-Identifier: Apache-2.0

package script_test

import (
	"strings"
	"testing"

	"snug/internal/stream"
)

// batches is a loop over a dataset of the setup's size; %s is run before backward.
const batches = `for b in loader:
    b = {k: v.cuda() for k, v in b.items()}
    loss = model(**b).loss
%s    loss.backward()
    opt.step()
    opt.zero_grad()
`

// same runs two scripts and checks that they have the same peak and no notes.
func same(t *testing.T, a, b string) {
	t.Helper()
	x, notes, err := follow(t, a)
	if err != nil || len(notes) > 0 {
		t.Fatalf("%v, notes %q", err, notes)
	}
	y, notes, err := follow(t, b)
	if err != nil || len(notes) > 0 {
		t.Fatalf("%v, notes %q", err, notes)
	}
	if p, q := peak(x.World.Trace), peak(y.World.Trace); p != q {
		t.Errorf("peaks of %d and %d bytes, want the same", p, q)
	}
}

// peak returns the peak of allocated bytes.
func peak(tr *stream.Trace) (most uint64) {
	sizes, now := map[uint32]uint64{}, uint64(0)
	for _, e := range tr.Events {
		switch e.Kind {
		case stream.Alloc:
			sizes[e.ID] = e.Size
			now += e.Size
			most = max(most, now)
		case stream.Free:
			now -= sizes[e.ID]
		}
	}
	return most
}

// TestModuleLoops checks that loops over a model's modules change it as its own methods do.
func TestModuleLoops(t *testing.T) {
	step := strings.Replace(batches, "%s", "", 1)
	model := strings.Replace(training, "opt = torch.optim.AdamW(model.parameters())\n", "", 1) + "model.train()\nfrom torch import nn\nfrom functools import partial\nfrom torch.utils.checkpoint import checkpoint\n"
	opt := "opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])\n"
	for name, x := range map[string]struct{ loop, plain string }{
		"frozen blocks": {
			"model.requires_grad_(False)\nlayers = next(m for m in model.modules() if isinstance(m, nn.ModuleList))\nfor layer in list(layers)[-1:]:\n    for p in layer.parameters():\n        p.requires_grad = True\n",
			"for n, p in model.named_parameters():\n    p.requires_grad = '.h.0.' in n\n",
		},
		"frozen base": {
			"model.base_model.requires_grad_(False)\nmodel.transformer.ln_f.requires_grad_(True)\n",
			"for n, p in model.named_parameters():\n    p.requires_grad = 'ln_f' in n\n",
		},
		"removed hooks": {
			"kept = []\nhooks = [m.register_forward_hook(lambda m, x, y: kept.append(y)) for n, m in model.named_modules() if isinstance(m, nn.LayerNorm)]\nfor h in hooks:\n    h.remove()\n",
			"",
		},
		"checkpointed the older way": {
			"for layer in model.transformer.h:\n    layer.forward = partial(checkpoint, layer.forward, use_reentrant=True)\nmodel.config.use_cache = False\n",
			"model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={'use_reentrant': True})\nmodel.config.use_cache = False\n",
		},
		"checkpointed blocks": {
			"for layer in model.transformer.h:\n    layer.forward = partial(checkpoint, layer.forward, use_reentrant=False)\nmodel.config.use_cache = False\n",
			"model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={'use_reentrant': False})\nmodel.config.use_cache = False\n",
		},
	} {
		t.Run(name, func(t *testing.T) { same(t, model+x.loop+opt+step, model+x.plain+opt+step) })
	}
}

// TestForwardHooks checks that the tensors stored by a hook are kept: a copy of the output of each of three layer
// norms.
func TestForwardHooks(t *testing.T) {
	hooks := "from torch import nn\nkept = {}\ndef hook(m, x, y):\n    kept[m] = y.detach().clone()\nfor m in model.modules():\n    if isinstance(m, nn.LayerNorm):\n        m.register_forward_hook(hook)\n"
	step := strings.Replace(batches, "%s", "", 1)
	plain, _, err := follow(t, training+step)
	if err != nil {
		t.Fatal(err)
	}
	hooked, notes, err := follow(t, training+hooks+step)
	if err != nil || len(notes) > 0 {
		t.Fatalf("%v, notes %q", err, notes)
	}
	output := uint64(64 * 128 * 64 * 4)
	if more := peak(hooked.World.Trace) - peak(plain.World.Trace); more != 3*output {
		t.Errorf("hooks keep %d more bytes, want %d", more, 3*output)
	}
}

// TestGradOf checks that torch.autograd.grad computes only the requested gradients: the embedding weight has
// none, and therefore no states.
func TestGradOf(t *testing.T) {
	ask := strings.Replace(batches, "%s    loss.backward()", "    (g,) = torch.autograd.grad(loss, [model.transformer.ln_f.weight])", 1)
	res, notes, err := follow(t, training+ask)
	if err != nil || len(notes) > 0 {
		t.Fatalf("%v, notes %q", err, notes)
	}
	tables := 0
	for _, e := range res.World.Trace.Events {
		if e.Kind == stream.Alloc && e.Size == 1000*64*4 {
			tables++
		}
	}
	if tables != 1 {
		t.Errorf("%d tensors of the size of the embeddings, want 1", tables)
	}
}

// TestUnreachedHooks checks that a hook on a module that is never called directly is noted.
func TestUnreachedHooks(t *testing.T) {
	_, notes, err := follow(t, training+"model.transformer.h.register_forward_hook(lambda m, x, y: None)\n"+strings.Replace(batches, "%s", "", 1))
	if err != nil || !strings.Contains(strings.Join(notes, "\n"), "at every call of the model's transformer.h are not followed") {
		t.Errorf("got %v and %q, want a note", err, notes)
	}
}
