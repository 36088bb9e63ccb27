// SPDX-License-Identifier: Apache-2.0

package config

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"snug/internal/pattern"
)

// inCode are the patterns that whole files are searched for.
var inCode = []*pattern.Pattern{
	patches, parsesSFT, preparesAlone, prepares, computeArgument, newDType, newAdapters, startsSFT, othersDefaults,
	startsPEFT, otherClasses, otherPrograms, fromPretrainedCall, exampleProgram, hydraCall, hfScript.Makes, trlScript.Makes,
}

// pieces are what the texts are made of that patterns are tried on.
var pieces = strings.Fields(`AutoLigerKernelForCausalLM. apply_liger_kernel_to_llama( TrlParser( HfArgumentParser( SFTConfig
	prepare_model_for_kbit_training( use_gradient_checkpointing=False bnb_4bit_compute_dtype = torch. from_pretrained( dtype= bfloat16
	get_peft_model( LoraConfig( trl sft /scripts/sft.py .scripts.sft swift megatron llamafactory-cli lmf run_no_trainer.py
	DPO KTO Reward v2 Config( Trainer( Online dpo grpo .py reward AutoModelForCausalLM. PeftModel. "gpt2" 'x' name run_glue run_qa
	hydra.main @main TrainingArguments( Seq2Seq SFTConfig( SFTTrainer( model= model my_ ( ) , = # . x 1 BATCH batch -size _Size bs "--bs" '--BS'`)

func drawText(t *rapid.T) string {
	all := append([]string{" ", " ", " ", "\n", "\n", "\n  "}, pieces...)
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(all), 0, 14).Draw(t, "text"), "")
}

// TestPatternsFindWhatTheirExpressionsDo holds the search from the first word on to
// a search of the whole text.
func TestPatternsFindWhatTheirExpressionsDo(t *testing.T) {
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		text := drawText(t)
		for _, p := range inCode {
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

// TestWhatIsReadByHand holds functions to the expressions that they stand for.
func TestWhatIsReadByHand(t *testing.T) {
	trainerCall := regexp.MustCompile(`(?ms)^[^#\n]*?\bSFTTrainer\((?:[^()]|\([^()]*\)){0,800}?\bmodel\s*=\s*` + aName + `|^[^#\n]*?\bSFTTrainer\(\s*("[^"\n]*")`)
	saysSize := regexp.MustCompile(`(?i)batch[_-]?size|["']--bs["']`)
	loraConfig := regexp.MustCompile(`^(?:[A-Za-z_]\w*\.)*LoraConfig\(`)
	call := regexp.MustCompile(`^[A-Za-z_][\w.]*\(`)
	check := func(t interface{ Fatalf(string, ...any) }, text string) {
		want := ""
		if m := trainerCall.FindStringSubmatch(text); m != nil {
			want = m[1] + m[2]
		}
		if got := trainerModel(text); got != want {
			t.Fatalf("the trainer's model in %q is %q, want %q", text, got, want)
		}
		if got, want := saysBatch([]byte(text)), saysSize.MatchString(text); got != want {
			t.Fatalf("%q says a batch: %v, want %v", text, got, want)
		}
		if got, want := isLoraConfig(text), loraConfig.MatchString(text); got != want {
			t.Fatalf("%q is a LoraConfig: %v, want %v", text, got, want)
		}
		if got, want := isCall(text), call.MatchString(text); got != want {
			t.Fatalf("%q is a call: %v, want %v", text, got, want)
		}
	}
	for _, n := range []int{798, 799, 800, 801, 802} {
		check(t, "SFTTrainer("+strings.Repeat(",", n)+"model=a)")
		check(t, "SFTTrainer("+strings.Repeat("(x)", n)+"model='a')\nSFTTrainer(\"b\")")
	}
	for _, text := range []string{"a.LoraConfig(r=1)", "LoraConfig(", "1LoraConfig(", "a..LoraConfig(", ".LoraConfig(", "aLoraConfig(", "a.(", "é(", "_("} {
		check(t, text)
	}
	rapid.Check(t, func(t *rapid.T) { check(t, drawText(t)) })
}
