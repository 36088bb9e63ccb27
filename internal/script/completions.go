// SPDX-License-Identifier: Apache-2.0

package script

import "snug/internal/shadow"

// Natives for trainers that generate the answers they train on: site-packages/trl_trainer_grpo_trainer.py.

func registerCompletions() {
	for name, f := range map[string]func(*interpreter, arguments) value{
		"prompts":           promptsBatch,
		"generated_rows":    generatedRows,
		"completion_length": completionLength,
		"prompt_length":     promptLength,
		"generate":          generates,
	} {
		natives["snug."+name] = f
	}
}

// promptsBatch implements snug.prompts(): a batch of texts, which are not on the card yet.
func promptsBatch(in *interpreter, _ arguments) value {
	in.asked = true
	d := &dict{record: true, sized: true}
	d.set("prompt", unknown{})
	return d
}

// generatedRows implements snug.generated_rows(steps): the completions that are generated at once, for this many
// batches.
func generatedRows(in *interpreter, a arguments) value {
	steps, ok := a.or(0, "steps", 1).(int)
	if !ok || steps < 1 {
		steps = 1
	}
	return in.Batch * steps
}

// completionLength implements snug.completion_length(most): the tokens of a completion. They are as many as the
// setup says, or as the trainer allows, if the sample has room for them and a prompt.
func completionLength(in *interpreter, a arguments) value {
	if in.Completion > 0 {
		return in.answer()
	}
	if n, ok := a.or(0, "most", nil).(int); ok && n > 0 && n < in.Seq {
		return n
	}
	return in.answer()
}

// promptLength implements snug.prompt_length(completion): the rest of the sample.
func promptLength(in *interpreter, a arguments) value {
	n, _ := a.or(0, "completion", 0).(int)
	return max(1, in.Seq-n)
}

// generates implements snug.generate(model, ids, mask, new): it returns the ids with new ones after them.
func generates(in *interpreter, a arguments) value {
	ids, ok := a.or(1, "ids", nil).(*shadow.Tensor)
	n, okN := a.or(3, "new", nil).(int)
	if !ok || !okN {
		return unknown{}
	}
	return in.World.Empty(shadow.Dims(ids.Size(0), ids.Size(1)+n), shadow.Int64).Hold()
}
