// SPDX-License-Identifier: Apache-2.0

package lint

import "slices"

var emptiedCache = Rule{
	Code: "SNG601", Name: "emptied-cache",
	Title:    "empty_cache runs in every step",
	Why:      "empty_cache returns memory to the driver that PyTorch would reuse in the next step; it frees no tensor. Called in every step, it synchronizes the GPU and makes the next step request the same memory again. If fragmentation is the problem, set expandable_segments.",
	Evidence: "From how the allocator works: every block that the next step needs requires another cudaMalloc, and cudaFree waits for all kernels.",
	Bad:      "for batch in loader:\n    loss = model(batch).loss\n    loss.backward()\n    optimizer.step()\n    optimizer.zero_grad()\n    torch.cuda.empty_cache()\n",
	Good:     "for batch in loader:\n    loss = model(batch).loss\n    loss.backward()\n    optimizer.step()\n    optimizer.zero_grad()\n",
	check:    checkEmptyCache,
}

func checkEmptyCache(m *module, r *reporter) {
	for _, f := range m.functions {
		for _, c := range f.calls {
			loop := c.place.loop()
			if c.name == "torch.cuda.empty_cache" && loop != nil && c.place.always(loop) && f.steps[loop.stmt] && f.stepsIn(loop) && !hasInnerLoop(f, loop) {
				r.add(c.At(), "empty_cache in every step frees no tensor and makes the next step allocate the same memory again; call it once, if at all, or set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True")
			}
		}
	}
}

// hasInnerLoop reports whether a loop that updates weights contains another such loop, which makes it a loop over
// epochs.
func hasInnerLoop(f *function, loop *place) bool {
	for _, s := range f.stmts {
		if f.trains[s.Stmt] && s.place.in(loop) {
			return true
		}
	}
	return false
}

// stepsIn reports whether an optimizer, or an engine such as DeepSpeed's, takes a step in a loop.
func (f *function) stepsIn(loop *place) bool {
	return slices.ContainsFunc(f.calls, func(c *call) bool {
		_, name := method(c.Call)
		return name == "step" && c.place.in(loop)
	})
}
