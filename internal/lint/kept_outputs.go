// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strings"

	"snug/internal/pysrc"
)

var keptOutput = Rule{
	Code: "SNG103", Name: "kept-output",
	Title:    "outputs of every training step are kept on the GPU",
	Why:      "Detached outputs have no graph, but they are still tensors in GPU memory. A list that gets one in every step grows until the card is full.",
	Evidence: "Measured on an H200: detached logits of 4 × 256 tokens and 8,000 entries, appended in every step, take 31 MiB a step and ran out of 6 GiB within 175 steps.",
	Bad:      "for batch in loader:\n    logits = model(batch)\n    loss = criterion(logits, batch)\n    loss.backward()\n    optimizer.step()\n    optimizer.zero_grad()\n    history.append(logits.detach())\n",
	Good:     "for batch in loader:\n    logits = model(batch)\n    loss = criterion(logits, batch)\n    loss.backward()\n    optimizer.step()\n    optimizer.zero_grad()\n    history.append(logits.argmax(-1).cpu())\n",
	check:    checkKeptOutputs,
}

func checkKeptOutputs(m *module, r *reporter) {
	if !m.onGPU() {
		return
	}
	for _, f := range m.functions {
		for _, k := range f.keeps {
			if k.sum || f.evaluatesHere(k.place) {
				continue
			}
			if v := k.kept(); v.known && !v.graph && v.big && !v.host {
				r.add(k.at, "%s keeps the outputs of every step on the GPU; keep less, or move it with .cpu()", k.container).made = v.lines
			}
		}
	}
}

var collectedOutputs = Rule{
	Code: "SNG104", Name: "collected-outputs",
	Title:    "evaluation collects whole outputs on the GPU",
	Why:      "Without gradients a batch leaves only its output behind, but a list of all outputs is as large as the dataset. Reduce each batch to what the metric needs (argmax, a sum), or move it to the CPU.",
	Evidence: "Measured on an H200: logits of 4 × 512 tokens and 32,000 entries take 250 MiB a batch; an evaluation that collects them over 200 batches ran out of 8 GiB.",
	Bad:      "with torch.no_grad():\n    for batch in loader:\n        predictions.append(model(batch))\n",
	Good:     "with torch.no_grad():\n    for batch in loader:\n        predictions.append(model(batch).argmax(-1).cpu())\n",
	check:    checkCollectedOutputs,
}

func checkCollectedOutputs(m *module, r *reporter) {
	if !m.onGPU() || !m.ofTraining() {
		return
	}
	for _, f := range m.functions {
		for _, k := range f.keeps {
			if v := k.collected(); v.known {
				r.add(k.at, "%s collects the outputs of all batches on the GPU; keep what the metric needs (argmax, a sum), or move it with .cpu()", k.container).made = v.lines
			}
		}
	}
}

// collected returns the value that an evaluation adds to a list for each batch, or an unknown value.
func (k *keep) collected() value {
	if k.sum || k.key != nil || k.isBounded() {
		return value{}
	}
	if k.fn.isValidationStep() {
		if k.isLocal() {
			return value{}
		}
	} else if !k.overBatches() {
		return value{}
	}
	v := k.fn.value(k.value, k.at, k.place)
	if v.graph || v.host || !v.big || isSmallName(last(k.container)) {
		return value{}
	}
	return v
}

// overBatches reports whether a container grows in a loop over batches that records no gradients.
func (k *keep) overBatches() bool {
	growing := k.growing()
	if len(growing) == 0 || k.place.loop() != growing[0] || !k.fn.evaluatesHere(k.place) {
		return false
	}
	for _, loop := range growing {
		if f, ok := loop.stmt.(*pysrc.For); ok && (isLoader(f.Iter) || k.fn.evalCall != nil && isEvaluationName(k.fn.name)) {
			return true
		}
	}
	return false
}

// isLoader reports whether a loop iterates over batches, judging by the name of its iterable.
func isLoader(e pysrc.Expr) bool {
	return anyIn(e, func(x pysrc.Expr) bool {
		name := lastOf(x)
		return hasWord(name, "loader", "batches", "dataset") || name == "dl" || strings.HasSuffix(name, "_dl")
	})
}

// isEvaluationName reports whether a function evaluates, judging by its name.
func isEvaluationName(name string) bool {
	return hasWord(name, "eval", "valid", "test", "predict", "infer", "embed", "encode", "extract")
}

var concatenated = Rule{
	Code: "SNG105", Name: "concatenated-outputs",
	Title:    "outputs of all batches are concatenated on the GPU",
	Why:      "torch.cat and torch.stack make a second copy of everything in the list while the list still exists: the peak is twice what was collected. Writing each batch into a preallocated tensor needs half; growing a tensor with cat in the loop copies it again in every iteration.",
	Evidence: "From how the allocator works: the result of cat is allocated before its inputs are freed.",
	Bad:      "with torch.no_grad():\n    for batch in loader:\n        outputs.append(model(batch))\nscores = torch.cat(outputs)\n",
	Good:     "scores = torch.empty(len(dataset), classes, device=\"cuda\")\nwith torch.no_grad():\n    for i, batch in enumerate(loader):\n        scores[i * size : i * size + len(batch)] = model(batch)\n",
	check:    checkConcatenated,
}

func checkConcatenated(m *module, r *reporter) {
	if !m.onGPU() || !m.ofTraining() {
		return
	}
	for _, f := range m.functions {
		lists := map[string]bool{}
		for _, k := range f.keeps {
			if k.collected().known {
				lists[k.container] = true
			}
		}
		for _, c := range f.calls {
			switch args := positional(c.Call); {
			case c.name != "torch.cat" && c.name != "torch.stack" && c.name != "torch.concat" || len(args) == 0:
			case lists[dotted(args[0])]:
				r.add(c.At(), "this copies everything in %s while the original still exists; write each batch into a preallocated tensor, or collect on the CPU", dotted(args[0]))
			case f.grows(c, args[0]):
				r.add(c.At(), "this copies all outputs so far in every iteration; collect them in a list on the CPU, or write into a preallocated tensor")
			}
		}
	}
}

// grows reports whether a call is x = torch.cat([x, outputs]) in an evaluation loop.
func (f *function) grows(c *call, list pysrc.Expr) bool {
	a, ok := c.stmt.(*pysrc.Assign)
	loop := c.place.loop()
	if !ok || loop == nil || a.Value != pysrc.Expr(c.Call) || len(a.Targets) != 1 || !f.evaluatesHere(c.place) {
		return false
	}
	name, parts := dotted(a.Targets[0]), elements(list)
	if name == "" || len(parts) != 2 || dotted(parts[0]) != name {
		return false
	}
	loops, ok := loop.stmt.(*pysrc.For)
	v := f.value(parts[1], c.At(), c.place)
	return ok && isLoader(loops.Iter) && v.known && v.big && !v.host
}
