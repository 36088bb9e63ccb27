// SPDX-License-Identifier: Apache-2.0

package family

import (
	"os"
	"slices"
	"strings"
	"testing"

	"snug/internal/kernel"
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// small returns a config of two layers; each family reads the keys it needs.
func small(modelType string) *Config {
	return NewConfig(map[string]any{
		"model_type": modelType, "num_hidden_layers": 2.0, "n_layer": 2.0, "n_layers": 2.0, "num_layers": 2.0,
		"hidden_size": 64.0, "n_embd": 64.0, "d_model": 64.0, "dim": 64.0, "num_attention_heads": 4.0, "n_head": 4.0, "n_heads": 4.0,
		"intermediate_size": 128.0, "vocab_size": 512.0, "word_embed_proj_dim": 64.0, "num_key_value_heads": 4.0,
		"expand": 2.0, "head_dim": 16.0, "num_heads": 8.0, "d_kv": 16.0, "n_groups": 1.0,
		"num_experts": 4.0, "num_local_experts": 4.0, "num_experts_per_tok": 2.0, "channels": 1.0, "embed_dim": 48.0, "window_size": 1.0, "image_size": 56.0, "patch_size": 7.0, "rotary_dim": 8.0, "n_group": 2.0, "topk_group": 1.0,
		"full_attention_interval": 2.0, "encoder_attention_heads": 4.0, "decoder_attention_heads": 4.0, "encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0,
		"unet": map[string]any{"block_out_channels": []any{32.0, 64.0}}, "vae": map[string]any{"block_out_channels": []any{32.0, 64.0}}, "text_encoder": map[string]any{},
		"vision_config": map[string]any{"vision_use_head": false}, "mm_tokens_per_image": 4.0,
	})
}

// built returns the names of the parameters of a model, and of its linear layers.
func built(t *testing.T, modelType, head string) (params, linears []string) {
	t.Helper()
	b := &nn.Builder{W: shadow.NewWorld(kernel.Rules{Torch: 211}), DType: shadow.Float32}
	if _, err := New(b, small(modelType), Run{Shape: &Shape{Batch: 2, Seq: 32, TargetSeq: 32}, Head: head, Positives: 1, Negatives: 1, Attention: "sdpa"}); err != nil {
		t.Fatal(err)
	}
	for _, p := range b.Parameters() {
		params = append(params, p.Name())
	}
	return params, b.LinearNames()
}

// TestFacts checks that each family has a complete row, and compares its names with the built models.
func TestFacts(t *testing.T) {
	for _, modelType := range Known() {
		f, _ := FactsOf(modelType)
		for _, head := range f.Heads {
			t.Run(modelType+" "+head, func(t *testing.T) {
				params, linears := built(t, modelType, head)
				checkRow(t, f)
				if f.Blocks != nil && !slices.ContainsFunc(f.Blocks, func(list string) bool { return isList(params, list) }) {
					t.Errorf("no parameter is inside %v: %v", f.Blocks, params[:min(len(params), 8)])
				}
				if head != Encoder && f.Output != "" && !slices.Contains(linears, f.OutputOf(head)) {
					t.Errorf("no layer is called %s: %v", f.OutputOf(head), linears)
				}
				for _, target := range f.Targets() {
					if !slices.Contains(linears, target[strings.LastIndexByte(target, '.')+1:]) {
						t.Errorf("no layer to adapt is called %s: %v", target, linears)
					}
				}
			})
		}
	}
}

// TestReadmeNamesFamilies checks that the README's list of families is complete.
func TestReadmeNamesFamilies(t *testing.T) {
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(page), "Families: ")
	list, _, _ = strings.Cut(list, ". Options:")
	named := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
	for _, modelType := range Known() {
		if !slices.Contains(named, modelType) {
			t.Errorf("README.md does not name %s", modelType)
		}
	}
}

// isList reports whether a path contains the blocks 0 and 1.
func isList(params []string, path string) bool {
	in := func(n string) bool {
		return slices.ContainsFunc(params, func(p string) bool { return strings.HasPrefix(p, path+"."+n+".") })
	}
	return in("0") && in("1")
}

func checkRow(t *testing.T, f Facts) {
	t.Helper()
	switch {
	case f.make == nil:
		t.Error("it has no constructor")
	case len(f.Heads) == 0:
		t.Error("it has no heads")
	case f.Positions.Key == "" && !f.Positions.Images && !f.ByToken:
		t.Error("the number of positions is missing")
	case (f.Positions.Key != "") != (f.Positions.Default > 0):
		t.Error("Positions needs both Key and Default, or neither")
	case f.Positions.Key != "" && f.Dims == Dims{}:
		t.Error("Dims is missing")
	case slices.Contains(f.Heads, CausalLM) && (f.Output == "" || f.Blocks == nil):
		t.Error("a causal model needs Blocks and Output")
	case f.Quantizes && f.Targets() == nil:
		t.Error("a model with quantized weights needs LoRA targets")
	case f.LoRA != nil && f.Suggested != nil:
		t.Error("LoRA and Suggested are both set")
	}
	for _, h := range f.Heads {
		if !slices.Contains(Heads(), h) {
			t.Errorf("%s is not a head", h)
		}
	}
}
