// SPDX-License-Identifier: Apache-2.0

package meaning

import "fmt"

// largerEvaluation returns the warning that evaluation takes more samples at a time than training.
// Evaluation keeps nothing for backward, but all of its logits, which a training step does not have.
func (r *Run) largerEvaluation(run map[string]any) []string {
	when := r.ValueOrDefault("eval.when")
	if when == nil || when == "" || when == false {
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
	return []string{fmt.Sprintf("%s: evaluation uses batches of %d, training %.0f; its logits are not counted, and the run may take more", where, size, batch)}
}
