// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"
	"testing"
	"testing/fstest"
)

// A program's default rank takes effect only if the switch next to it is on.
func TestSwitchOfProgram(t *testing.T) {
	const program = "@dataclass\nclass Arguments(TrainingArguments):\n    lora: bool = %s\n    lora_r: int = 8\nparser = HfArgumentParser(Arguments)\n"
	for _, x := range []struct {
		flags, program string
		adapts         bool
	}{
		{"", "False", false},
		{" --lora", "False", true},
		{" --lora true", "False", true},
		{" --lora ./adapter", "True", true},
		{"", "True", true},
	} {
		files := fstest.MapFS{
			"run.py": {Data: []byte(fmt.Sprintf(program, x.program))},
			"run.sh": {Data: []byte("torchrun run.py --model_name gpt2 --per_device_train_batch_size 2 --max_length 64" + x.flags + "\n")},
		}
		if got := opened(t, files).Fields()["lora"] != nil; got != x.adapts {
			t.Errorf("%q with lora = %s: adapters %v, want %v", x.flags, x.program, got, x.adapts)
		}
	}
}
