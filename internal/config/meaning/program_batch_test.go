// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"snug/internal/config/projects"
)

// TestBatchOfProgram checks that a script that sets no batch gets its program's default, with a note, and that a program
// without a default is still an error.
func TestBatchOfProgram(t *testing.T) {
	const start = "python a.py --model_name_or_path gpt2 --max_seq_length 64\n"
	for name, x := range map[string]struct{ script, program, want string }{
		"a flag":               {start, "parser.add_argument('--train_batch_size', type=int, default=6)\n", "6"},
		"TrainingArguments":    {start, "model, args = HfArgumentParser((Own, TrainingArguments)).parse_args_into_dataclasses()\ntrainer = Trainer(args=args)\ntrainer.train()\n", "8"},
		"no default":           {start, "parser.add_argument('--train_batch_size', type=int, required=True)\n", "gets no batch here"},
		"no model":             {"python a.py --out x\n", "parser.add_argument('--train_batch_size', type=int, default=6)\n", "gets no batch here"},
		"several with a batch": {start, "a = DataLoader(x, batch_size=4)\nb = DataLoader(y, batch_size=8)\n", "gets no batch here"},
	} {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{"run.sh": {Data: []byte(x.script)}, "a.py": {Data: []byte(x.program)}}
			found, err := projects.Find(files, ".", "run.sh")
			if err != nil {
				if !strings.Contains(err.Error(), x.want) {
					t.Errorf("error %v, want %q", err, x.want)
				}
				return
			}
			if got := fmt.Sprint(New(found).Fields()["batch"]); got != x.want {
				t.Errorf("batch is %s, want %s", got, x.want)
			}
			if !slices.Contains(found.Notes, "run.sh sets no batch; the default in a.py is assumed") {
				t.Errorf("notes are %q", found.Notes)
			}
		})
	}
}
