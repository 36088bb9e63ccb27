// SPDX-License-Identifier: Apache-2.0

// Package patterntest tests patterns on texts that resemble training scripts.
package patterntest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"snug/internal/pattern"
)

// pieces are the building blocks of the test texts.
var pieces = strings.Fields(`AutoLigerKernelForCausalLM. apply_liger_kernel_to_llama( TrlParser( HfArgumentParser( SFTConfig
	prepare_model_for_kbit_training( use_gradient_checkpointing=False bnb_4bit_compute_dtype = torch. from_pretrained( dtype= bfloat16
	get_peft_model( LoraConfig( trl sft /scripts/sft.py .scripts.sft swift megatron llamafactory-cli lmf run_no_trainer.py
	DPO KTO Reward v2 Config( Trainer( Online dpo grpo .py reward AutoModelForCausalLM. PeftModel. "gpt2" 'x' name run_glue run_qa
	hydra.main @main TrainingArguments( Seq2Seq SFTConfig( SFTTrainer( model= model my_ ( ) , = # . x 1 BATCH batch -size _Size bs "--bs" '--BS'`)

// Text draws a text that mixes words that patterns look for with others.
func Text(t *rapid.T, others ...string) string {
	all := slices.Concat([]string{" ", " ", " ", "\n", "\n", "\n  "}, pieces, slices.Repeat(others, 8))
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(all), 0, 14).Draw(t, "text"), "")
}

// FindAsExpressions checks that patterns, which search only from the first word on, find the same matches as a
// search of the whole text. Each text contains an example match.
func FindAsExpressions(t *testing.T, example string, patterns ...*pattern.Pattern) {
	t.Helper()
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		text := Text(t, example)
		for _, p := range patterns {
			want, got := p.Regexp().FindStringSubmatchIndex(text), p.Index(text)
			if want != nil {
				found++
			}
			if (want == nil) != (got == nil) || want != nil && !cmp.Equal(want[2:], got[2:]) {
				t.Fatalf("%s in %q: %v, want %v", p.Regexp(), text, got, want)
			}
		}
	})
	if found == 0 {
		t.Error("no text has anything to find")
	}
}
