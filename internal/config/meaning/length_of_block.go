// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"
	"strings"

	"snug/internal/pattern"
	"snug/internal/setup"
)

// Language modeling programs join their texts and cut them into blocks. If no flag sets the length of a block, it is the
// tokenizer's limit: block_size = tokenizer.model_max_length (transformers' run_clm.py and run_mlm.py, and their copies).

// longestBlock is what these programs reduce longer blocks to.
const longestBlock = 1024

var (
	blockOfTokenizer = pattern.New(`(?m)^[^#\n]*?\b(block_size|max_seq_length)[ \t]*=[ \t]*tokenizer\.model_max_length[ \t]*$`, "tokenizer.model_max_length")
	reducedBlock     = pattern.New(`(?m)^[^#\n]*?\bif[ \t]+(?:block_size|max_seq_length)[ \t]*>[ \t]*1_?024[ \t]*:`, "> 1024", "> 1_024", ">1024")
	joinsTexts       = pattern.New(`(?m)^[^#\n]*?\bdef[ \t]+group_texts\(`, "group_texts(")
)

// lengthOfBlock returns the length of the blocks that the run's program cuts its texts into, with the place and the variable. It
// returns 0 if the files set a length or the program does not cut its texts to the tokenizer's limit.
func (r *Run) lengthOfBlock() (n int, where string) {
	if r.Primary == nil || r.Value("seq") != nil || len(r.BindingsOf("seq")) > 0 {
		return 0, ""
	}
	for _, p := range r.ExecutedPrograms(r.Primary) {
		code := p.Code()
		at := blockOfTokenizer.Index(code)
		if at == nil || !joinsTexts.In(code) {
			continue
		}
		where = fmt.Sprintf("%s: %s", p.LineOf(at[2]), code[at[2]:at[3]])
		return r.blockLimit(code[at[1]:]), where
	}
	return 0, ""
}

// blockLimit returns the tokenizer's limit, or what the program's code after the assignment reduces it to; 0 if that is not known.
func (r *Run) blockLimit(after string) int {
	name, _ := r.modelInFile().(string)
	longest := setup.LongestOf(r.ModelName(name))
	if longest <= longestBlock {
		return longest
	}
	if at := reducedBlock.Index(after); at != nil && strings.Count(after[:at[0]], "\n") <= 3 {
		return longestBlock
	}
	return 0 // newer programs reduce the limit to the model's longest sequence, and not every tokenizer has a limit
}

// assumedBlock returns the note that blocks are as long as the tokenizer's limit.
func (r *Run) assumedBlock(run map[string]any) []string {
	n, where := r.lengthOfBlock()
	if n == 0 || run["seq"] != float64(n) {
		return nil
	}
	return []string{fmt.Sprintf("%s is not set by a flag, so texts are cut into blocks of the tokenizer's limit; %d tokens are counted", where, n)}
}
