// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/pattern/patterntest"
)

func TestPEFTTargets(t *testing.T) {
	for family, want := range map[string][]string{
		"llama": {"q_proj", "v_proj"}, "gpt2": {"c_attn"},
		"bert": {"query", "value"}, "t5": {"q", "v"}, "gpt_neox": {"query_key_value"}, "phi3": nil,
	} {
		s := &Setup{Model: Model{Config: map[string]any{"model_type": family}}, LoRA: &LoRA{PEFT: true}}
		err := s.completeLoRA()
		if (err != nil) != (want == nil) {
			t.Errorf("%s: error %v", family, err)
		}
		if diff := cmp.Diff(want, s.LoRA.Targets); diff != "" {
			t.Errorf("%s: -want +got\n%s", family, diff)
		}
	}
}

func TestIA3(t *testing.T) {
	fields := func(change map[string]any) map[string]any {
		f := map[string]any{"model": map[string]any{"name": "llama-3.2-1b"}, "batch": 1.0, "seq": 64.0, "lora": map[string]any{"tuner": "ia3"}}
		for k, v := range change {
			Put(f, k, v)
		}
		return f
	}
	s, err := Decode(fields(nil), Source{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&LoRA{Tuner: IA3, Targets: []string{"k_proj", "v_proj", "down_proj"}, Feedforward: []string{"down_proj"}, PEFT: true}, s.LoRA); diff != "" {
		t.Error(diff)
	}
	for _, c := range []struct {
		change map[string]any
		want   string
	}{
		{map[string]any{"lora.rank": 8.0}, "lora.rank is 8, but IA3 has no rank"},
		{map[string]any{"lora.dropout": 0.1}, "lora.tuner ia3 has no lora.dropout"},
		{map[string]any{"quantization.bits": 8.0}, "ia3 over quantized weights is not simulated"},
		{map[string]any{"lora.targets": []any{"q_proj"}, "lora.feedforward": []any{"down_proj"}}, "lora.feedforward down_proj is not one of lora.targets"},
		{map[string]any{"lora.tuner": "boft"}, `"boft" is not known; snug does not simulate it`},
		{map[string]any{"lora.tuner": "lora"}, "lora.rank is missing"},
		{map[string]any{"lora.tuner": "lora", "lora.rank": 8.0, "lora.feedforward": []any{"down_proj"}}, "lora.feedforward is for IA3"},
		{map[string]any{"dist": map[string]any{"kind": "fsdp2", "world": 2.0}}, "lora.tuner ia3 with dist.kind fsdp2 is not simulated"},
	} {
		if _, err := Decode(fields(c.change), Source{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want it to contain %q", c.change, err, c.want)
		}
	}
}

// TestTuners checks PEFT's defaults of the other methods, and the settings that they do not have.
func TestTuners(t *testing.T) {
	decode := func(lora, others map[string]any) (*Setup, error) {
		f := map[string]any{"model": map[string]any{"name": "llama-3.2-1b"}, "batch": 1.0, "seq": 64.0, "lora": lora}
		for k, v := range others {
			Put(f, k, v)
		}
		return Decode(f, Source{})
	}
	for _, c := range []struct {
		lora map[string]any
		want LoRA
	}{
		{map[string]any{"tuner": "adalora", "rank": 12.0}, LoRA{Tuner: AdaLoRA, Rank: 12, Targets: []string{"q_proj", "v_proj"}, PEFT: true}},
		{map[string]any{"tuner": "vera", "rank": 256.0, "dropout": 0.1}, LoRA{Tuner: VeRA, Rank: 256, Dropout: 0.1, Targets: []string{"q_proj", "v_proj"}, PEFT: true}},
		{map[string]any{"tuner": "lokr", "rank": 8.0, "targets": []any{"o_proj"}}, LoRA{Tuner: LoKr, Rank: 8, Targets: []string{"o_proj"}, PEFT: true}},
		{map[string]any{"tuner": "oft"}, LoRA{Tuner: OFT, Block: 32, Targets: []string{"q_proj", "v_proj"}, PEFT: true}},
		{map[string]any{"tuner": "prompt", "virtual_tokens": 20.0}, LoRA{Tuner: PromptTuning, Virtual: 20, PEFT: true}},
		{map[string]any{"tuner": "prefix", "virtual_tokens": 20.0, "prefix_projection": true, "encoder_hidden": 64.0}, LoRA{Tuner: PrefixTuning, Virtual: 20, Projection: true, Encoder: 64, PEFT: true}},
	} {
		s, err := decode(c.lora, nil)
		if err != nil {
			t.Errorf("%v: %v", c.lora, err)
			continue
		}
		if diff := cmp.Diff(&c.want, s.LoRA); diff != "" {
			t.Errorf("%v: -want +got\n%s", c.lora, diff)
		}
	}
	for _, c := range []struct {
		lora, others map[string]any
		want         string
	}{
		{map[string]any{"tuner": "adalora"}, nil, "lora.rank is missing"},
		{map[string]any{"tuner": "loha", "rank": 8.0, "dropout": 0.1}, nil, "LoHa then skips layers at random"},
		{map[string]any{"tuner": "vera", "rank": 8.0, "dora": true}, nil, "lora.tuner vera has no lora.dora"},
		{map[string]any{"tuner": "vera", "rank": 8.0}, map[string]any{"quantization.bits": 4.0}, "vera over quantized weights is not simulated"},
		{map[string]any{"tuner": "oft", "rank": 8.0}, nil, "OFT has no rank"},
		{map[string]any{"rank": 8.0, "oft_block_size": 8.0}, nil, "lora.oft_block_size is for OFT"},
		{map[string]any{"tuner": "prompt"}, nil, "lora.virtual_tokens is missing"},
		{map[string]any{"tuner": "prompt", "virtual_tokens": 8.0, "rank": 8.0}, nil, "prompt tuning has no rank"},
		{map[string]any{"tuner": "prompt", "virtual_tokens": 8.0, "targets": []any{"q_proj"}}, nil, "lora.tuner prompt changes no layers"},
		{map[string]any{"tuner": "prompt", "virtual_tokens": 8.0, "encoder_hidden": 8.0}, nil, "lora.tuner prompt has no encoder"},
		{map[string]any{"tuner": "p-tuning", "virtual_tokens": 8.0, "prefix_projection": true}, nil, "lora.prefix_projection is for"},
		{map[string]any{"tuner": "prefix", "virtual_tokens": 8.0}, map[string]any{"checkpointing": true}, "checkpointing does not work with lora.tuner prefix"},
		{map[string]any{"tuner": "prefix", "virtual_tokens": 8.0}, map[string]any{"attention": "flash"}, "prefix with attention flash is not simulated"},
		{map[string]any{"rank": 8.0, "virtual_tokens": 8.0}, nil, "are for virtual tokens"},
	} {
		if _, err := decode(c.lora, c.others); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want it to contain %q", c.lora, err, c.want)
		}
	}
}

// TestAdaptersMadeAt compares the pattern with its regular expression, and checks the lines that it finds.
func TestAdaptersMadeAt(t *testing.T) {
	patterntest.FindAsExpressions(t, "peft.get_peft_model(", newAdapters)
	for text, want := range map[string]int{
		"import peft\nm = peft.get_peft_model(m, c)\n": 2,
		"\n\nc = LoraConfig(r=8)\n":                    3,
		"# c = LoraConfig(r=8)\n":                      0,
		"from peft import LoraConfig\n":                0,
	} {
		if got := AdaptersMadeAt(text); got != want {
			t.Errorf("%q: line %d, want %d", text, got, want)
		}
	}
}
