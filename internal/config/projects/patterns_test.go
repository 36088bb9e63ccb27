// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"snug/internal/pattern/patterntest"
)

// TestPatterns compares patterns with their regular expressions.
func TestPatterns(t *testing.T) {
	patterntest.FindAsExpressions(t, "AutoModel.from_pretrained(x, dtype=bfloat16", newDType, fromPretrainedCall, exampleProgram, quotient, hydraCall, trainsHere)
}

// TestWhatIsReadByHand compares hand-written matchers with the regular expressions that they replace.
func TestWhatIsReadByHand(t *testing.T) {
	trainerCall := regexp.MustCompile(`(?ms)^[^#\n]*?\bSFTTrainer\((?:[^()]|\([^()]*\)){0,800}?\bmodel\s*=\s*` + nameExpression + `|^[^#\n]*?\bSFTTrainer\(\s*("[^"\n]*")`)
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
			t.Fatalf("%q has a batch: %v, want %v", text, got, want)
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
	rapid.Check(t, func(t *rapid.T) { check(t, patterntest.Text(t)) })
}
