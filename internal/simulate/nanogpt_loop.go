// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"snug/internal/family"
	"snug/internal/shadow"
)

// The training loop of karpathy/nanoGPT, train.py. It is at the top level of a script, so its variables are
// global: X, Y, logits and loss keep their values until the next micro-batch rebinds them. The old logits are
// alive while the new ones are computed, and during the update. A batch is fetched during the previous one's
// forward pass. Before the first step the loss is estimated without gradients, which leaves memory in the cache
// that the steps reuse. Later estimates reuse the memory that the steps have left; in none of the 384 shapes
// tried did they need more.

// loopNames holds the variables of the loop.
type loopNames struct {
	batch        family.Batch
	logits, loss *shadow.Tensor
}

// estimateBatches is the number of simulated micro-batches in estimate_loss, as if eval_iters were 2. All but the
// first are alike: they start with the previous one's variables alive.
const estimateBatches = 4

// bind rebinds a variable; the old value is freed once the new one exists.
func bind(at **shadow.Tensor, to *shadow.Tensor) {
	old := *at
	*at = to.Hold()
	old.Drop()
}

// fetch is X, Y = get_batch('train').
func (r *run) fetch(n *loopNames) {
	r.note("step: batch")
	old := n.batch
	n.batch = r.script.Batch()
	old.Drop()
}

// beforeSteps does what train.py does before its first step.
func (r *run) beforeSteps() {
	if r.script == nil || r.o.Local {
		return
	}
	r.fetch(&r.names)
	r.mark(Forward, "estimate_loss")
	r.estimateLoss()
}

// estimateLoss is estimate_loss, which has local variables.
func (r *run) estimateLoss() {
	defer r.w.NoGrad()()
	r.script.Eval(true)
	var own loopNames
	for range estimateBatches {
		r.fetch(&own)
		r.w.Autocast(autocastType(r.s.Precision), func() { r.callModel(&own, r.script.Forward) })
		shadow.Item(own.loss)
	}
	own.end()
	r.script.Eval(false)
}

// callModel is logits, loss = model(X, Y).
func (r *run) callModel(n *loopNames, model func(family.Batch) (logits, loss *shadow.Tensor)) {
	logits, loss := model(n.batch)
	bind(&n.logits, logits)
	bind(&n.loss, loss)
}

// scriptMicroBatch is one micro-batch of the loop.
func (r *run) scriptMicroBatch() {
	n := &r.names
	if r.o.Local {
		r.fetch(n)
	}
	r.mark(Forward, "forward")
	r.w.Autocast(autocastType(r.s.Precision), func() {
		r.callModel(n, r.wrapped)
		if !r.o.Undivided {
			bind(&n.loss, n.loss.DivScalar())
		}
	})
	if !r.o.Local {
		r.fetch(n)
	}
	r.mark(Backward, "backward")
	r.scaled(n.loss)
	r.note("backward done")
}

// wrapped runs the model inside the wrapper of a run on several GPUs.
func (r *run) wrapped(b family.Batch) (logits, loss *shadow.Tensor) {
	loss = r.forward(func() *shadow.Tensor {
		logits, loss = r.script.Forward(b)
		return loss
	})
	return logits, loss
}

// end drops the variables, as a function does when it returns.
func (n *loopNames) end() {
	n.batch.Drop()
	bind(&n.logits, nil)
	bind(&n.loss, nil)
	*n = loopNames{}
}
