// SPDX-License-Identifier: Apache-2.0

package meaning

import "fmt"

// settleEvaluation fills in the evaluation if the files turn it on. It does so for the trainer's own loop, and for runs on
// several GPUs whose loop is not simulated there: each GPU then evaluates as it would alone. A script that is followed has
// its own evaluation. Only the loss is kept, because configs do not show whether a program computes metrics from logits.
func (r *Run) settleEvaluation(out map[string]any) {
	loop := r.Trainer().Loop
	if overGPUs := out["dist"] != nil && (out["loop"] == nil || out["loop"] == r.programLoop()); loop == "" || out["loop"] != loop && !overGPUs || !r.evaluates() {
		return
	}
	evaluation := map[string]any{}
	put(evaluation, "batch", asJSON(r.ValueOrDefault("eval.batch")))
	out["evaluation"] = evaluation
}

// evaluates reports whether the files turn on evaluation between steps or after them.
func (r *Run) evaluates() bool {
	when := r.ValueOrDefault("eval.when")
	return when != nil && when != "" && when != false
}

// largerEvaluation returns the warning that evaluation uses larger batches than training. Evaluation keeps
// nothing for backward, but keeps all of its logits, unlike a training step. There is no warning if the run's loop is
// followed, because its evaluation is then simulated.
func (r *Run) largerEvaluation(run map[string]any) []string {
	if !r.evaluates() || run["evaluation"] != nil || run["loop"] != nil && run["loop"] == r.programLoop() {
		return nil
	}
	size, _ := r.ValueOrDefault("eval.batch").(int)
	batch, _ := run["batch"].(float64)
	if size == 0 || float64(size) <= batch || batch == 0 {
		return nil
	}
	where, _ := r.Main()
	if of := r.BindingsOf("eval.batch"); len(of) > 0 {
		where = of[0].Where()
	}
	return []string{fmt.Sprintf("%s: evaluation uses batches of %d, training %.0f; its logits are not counted, so the run may need more memory than shown", where, size, batch)}
}
