// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// source opens files from memory.
func source(files fstest.MapFS) Source {
	return Source{Open: func(path string) (io.ReadCloser, error) {
		if path == "" || strings.HasPrefix(path, "/") {
			return nil, fs.ErrNotExist
		}
		return files.Open(path)
	}, Hub: "hub"}
}

// oneSetup decodes text that contains one setup.
func oneSetup(text string, from Source) (*Setup, error) {
	raws, err := Read(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	if raws[0].Err != nil {
		return nil, raws[0].Err
	}
	return Decode(raws[0].Fields, from)
}

func TestDefaults(t *testing.T) {
	yes := true
	want := &Setup{
		Batch: 4, Seq: 1024, Precision: "fp32", Optimizer: "adamw", Attention: "sdpa", AttentionMask: &yes, SetToNone: &yes,
		Accumulation: 1, Steps: 3, Versions: Versions{Torch: NewestTorch},
		Model: Model{Config: map[string]any{"model_type": "gpt2"}, Head: "causal-lm"},
	}
	for name, text := range map[string]string{
		"json":  `{"model": {"config": {"model_type": "gpt2"}}, "batch": 4, "seq": 1024}`,
		"lines": "\n{\"model\": {\"config\": {\"model_type\": \"gpt2\"}}, \"batch\": 4, \"seq\": 1024}\n\n",
		"wide":  "{\n  \"model\": {\"config\": {\"model_type\": \"gpt2\"}},\n  \"batch\": 4,\n  \"seq\": 1024\n}",
		"yaml":  "# a run\nmodel:\n  config: {model_type: gpt2}\nbatch: 4\nseq: 1024\n",
		"mark":  "\xef\xbb\xbf" + `{"model": {"config": {"model_type": "gpt2"}}, "batch": 4, "seq": 1024}`,
		"null":  `{"model": {"config": {"model_type": "gpt2"}, "name": null}, "batch": 4, "seq": 1024, "target_seq": null}`,
	} {
		got, err := oneSetup(text, Source{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestHeadAndLength(t *testing.T) {
	tests := map[string]struct {
		head   string
		seq    int
		target int
	}{
		`{"model_type": "bert"}`:                                                        {"masked-lm", 512, 0},
		`{"model_type": "bert", "architectures": ["BertModel"]}`:                        {"encoder", 512, 0},
		`{"model_type": "roberta", "max_position_embeddings": 514}`:                     {"masked-lm", 512, 0},
		`{"model_type": "llama", "max_position_embeddings": 131072}`:                    {"causal-lm", 131072, 0},
		`{"model_type": "t5"}`:                                                          {"seq2seq-lm", 512, 512},
		`{"model_type": "gpt2", "n_positions": 2048}`:                                   {"causal-lm", 2048, 0},
		`{"model_type": "gpt2", "max_position_embeddings": 256}`:                        {"causal-lm", 256, 0},
		`{"model_type": "vit"}`:                                                         {"image-classification", 0, 0},
		`{"model_type": "llama", "architectures": ["LlamaForCausalLM"]}`:                {"causal-lm", 2048, 0},
		`{"model_type": "t5", "architectures": ["T5ForConditionalGeneration"]}`:         {"seq2seq-lm", 512, 512},
		`{"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"]}`:                  {"causal-lm", 1024, 0},
		`{"model_type": "modernbert", "architectures": ["ModernBertForMaskedLM"]}`:      {"masked-lm", 8192, 0},
		`{"model_type": "bert", "architectures": ["BertForSequenceClassification"]}`:    {"sequence-classification", 512, 0},
		`{"model_type": "roberta", "architectures": ["RobertaForTokenClassification"]}`: {"token-classification", 510, 0},
		`{"model_type": "bert", "architectures": ["BertForQuestionAnswering"]}`:         {"question-answering", 512, 0},
		`{"model_type": "bert", "architectures": ["BertForMultipleChoice"]}`:            {"multiple-choice", 512, 0},
	}
	// seq is also the longest length that the model accepts
	for config, tt := range tests {
		s, err := oneSetup(fmt.Sprintf(`{"model": {"config": %s}, "batch": 1, "seq": %d}`, config, max(tt.seq, 1)), Source{})
		if err != nil {
			t.Errorf("%s: %v", config, err)
			continue
		}
		if s.Model.Head != tt.head || s.Seq != tt.seq || s.TargetSeq != tt.target {
			t.Errorf("%s: %s %d %d, want %+v", config, s.Model.Head, s.Seq, s.TargetSeq, tt)
		}
		if tt.seq > 0 && s.Model.Longest() != tt.seq {
			t.Errorf("%s takes %d tokens, want %d", config, s.Model.Longest(), tt.seq)
		}
	}
}

// TestBadSetups has one row for each possible mistake.
func TestBadSetups(t *testing.T) {
	const gpt2 = `"model": {"config": {"model_type": "gpt2"}}`
	tests := map[string]string{
		`{` + gpt2 + `, "batch": 4, "bacth": 8}`:                                               `field "bacth" is not known; did you mean batch?`,
		`{` + gpt2 + `, "bacth": 8}`:                                                           `field "bacth" is not known; did you mean batch?`,
		`{` + gpt2 + `, "batch": 4, "zzzzzzz": 8}`:                                             `field "zzzzzzz" is not known; known: id, batch,`,
		`{` + gpt2 + `}`:                                                                       `batch is missing`,
		`{"batch": 4}`:                                                                         `model is missing; give a config or a name`,
		`{"model": "gpt2", "batch": 4}`:                                                        `model is "gpt2"; it must be an object`,
		`{"model": {}, "batch": 4}`:                                                            `model has no config, name or profile`,
		`{` + gpt2 + `, "batch": 0}`:                                                           `batch is 0; it must be at least 1`,
		`{` + gpt2 + `, "batch": -3}`:                                                          `batch is -3; it must be at least 1`,
		`{` + gpt2 + `, "batch": 2.5}`:                                                         `batch is 2.5; it must be a whole number`,
		`{` + gpt2 + `, "batch": "4"}`:                                                         `batch is "4"; it must be a whole number`,
		`{` + gpt2 + `, "batch": 1e12}`:                                                        `batch is 1000000000000; it must be at most 1048576`,
		`{` + gpt2 + `, "batch": NaN}`:                                                         `NaN is not a valid JSON number`,
		"model: {config: {model_type: gpt2}}\nbatch: .nan\n":                                   `batch is NaN; it must be a whole number`,
		"model: {config: {model_type: gpt2, n_embd: .inf}}\nbatch: 4\n":                        `config key "n_embd" is +Inf; write a number`,
		`{` + gpt2 + `, "batch": 4, "precision": "bf61"}`:                                      `precision "bf61" is not known; did you mean bf16?`,
		`{` + gpt2 + `, "batch": 4, "precision": "double"}`:                                    `precision "double" is not known; known: fp32`,
		`{` + gpt2 + `, "batch": 4, "optimizer": "adamv"}`:                                     `optimizer "adamv" is not known; did you mean adam`,
		`{` + gpt2 + `, "batch": 4, "attention": "flsh"}`:                                      `attention "flsh" is not known; did you mean flash?`,
		`{` + gpt2 + `, "batch": 4, "attention": "flash"}`:                                     `attention flash computes in 16 bits, but precision is fp32`,
		`{` + gpt2 + `, "batch": 4, "checkpointing": 1}`:                                       `checkpointing is 1; it must be true or false`,
		`{` + gpt2 + `, "batch": 4, "accumulation": 0}`:                                        `accumulation is 0; it must be at least 1`,
		`{` + gpt2 + `, "batch": 4, "steps": 1000}`:                                            `steps is 1000; it must be at most 64`,
		`{` + gpt2 + `, "batch": 4, "limit": 0}`:                                               `limit is 0; it must be bytes`,
		`{` + gpt2 + `, "batch": 4, "limit": "24 parsecs"}`:                                    `limit: "24 parsecs" is not a size`,
		`{` + gpt2 + `, "batch": 4, "seq": 2000}`:                                              `seq is 2000; gpt2 has 1024 learned positions`,
		`{"model": {"config": {"model_type": "bert"}}, "batch": 4, "seq": 513}`:                `seq is 513; bert has 512 learned positions`,
		`{"model": {"config": {"model_type": "llama"}}, "batch": 1000000, "seq": 4000000}`:     `batch 1000000 times seq 4000000 is more than any GPU could hold`,
		`{"model": {"config": {"model_type": "mamba"}}, "batch": 4}`:                           `seq is missing; give the tokens per sample, or lengths`,
		`{"model": {"config": [1, 2]}, "batch": 4}`:                                            `model.config is a list; it must be the contents of a config.json`,
		`{"model": {"config": {}}, "batch": 4}`:                                                `config key "model_type" is missing`,
		`{"model": {"config": {"model_type": "gpt2"}, "name": "gpt2"}, "batch": 4}`:            `model has more than one of config, name and profile`,
		`{"model": {"name": "gtp2"}, "batch": 4}`:                                              `model.name "gtp2" is not known; did you mean gpt2?`,
		`{"model": {"name": "torchvision/resnet5"}, "batch": 4}`:                               `did you mean torchvision/resnet50?`,
		`{"model": {"name": "no/such"}, "batch": 4}`:                                           `model.name "no/such" is not known; it is neither built in`,
		`{"model": {"custom": "two-tower"}, "batch": 4}`:                                       `record a profile: snug profile -- <your command>`,
		`{"model": {"profile": "missing.snug"}, "batch": 4}`:                                   `reading the profile missing.snug: file does not exist`,
		`{"model": {"profile": "list.json"}, "batch": 4}`:                                      `reading the profile list.json: profiles cannot be read here`,
		`{"model": {"name": "gpt2", "heads": 3}, "batch": 4}`:                                  `field "model.heads" is not known; did you mean head?`,
		`{"model": {"name": "gpt2", "head": "causal"}, "batch": 4}`:                            `model.head "causal" is not known; did you mean causal-lm?`,
		`{"model": {"config": "missing.json"}, "batch": 4}`:                                    `reading the config missing.json: file does not exist`,
		`{"model": {"config": "list.json"}, "batch": 4}`:                                       `list.json contains a list; a config.json must be an object`,
		`{"model": {"config": "broken.json"}, "batch": 4}`:                                     `broken.json:2:1: not JSON`,
		`{"model": {"config": {"model_type": "llama", "num_hidden_layers": 1e9}}, "batch": 4}`: `config key "num_hidden_layers" is 1000000000; it must be at most 1000`,
		`{"model": {"config": {"model_type": "bert", "architectures": ["BertForNextSentencePrediction"]}}, "batch": 4}`: `set model.head to one of causal-lm`,
		`{` + gpt2 + `, "batch": 4, "lora": {"targets": ["c_attn"]}}`:                                                   `lora.rank is missing`,
		`{` + gpt2 + `, "batch": 4, "lora": {"rank": 0, "targets": ["c_attn"]}}`:                                        `lora.rank is 0; it must be at least 1`,
		`{` + gpt2 + `, "batch": 4, "lora": {"rank": 8, "targets": "c_attn"}}`:                                          `lora.targets is "c_attn"; it must be a list of names`,
		`{` + gpt2 + `, "batch": 4, "lora": {"rank": 8, "targets": ["q"], "dropout": 2}}`:                               `lora.dropout is 2; it must be a number from 0 to 1`,
		`{` + gpt2 + `, "batch": 4, "lora": {"rank": 8, "targets": ["q"], "peft": "yes"}}`:                              `lora.peft is`,
		`{` + gpt2 + `, "batch": 4, "lora": {"rnak": 8, "targets": ["c_attn"]}}`:                                        `field "lora.rnak" is not known; did you mean rank?`,
		`{` + gpt2 + `, "batch": 4, "dist": {"kind": "dpp", "world": 8}}`:                                               `dist.kind "dpp" is not known; did you mean ddp?`,
		`{` + gpt2 + `, "batch": 4, "dist": {"kind": "ddp"}}`:                                                           `dist.world is missing`,
		`{` + gpt2 + `, "batch": 4, "dist": {"kind": "zero2", "world": 8, "load": "sharded"}}`:                          `dist.load belongs to fsdp1, fsdp2 and zero3, which shard weights, not to zero2`,
		`{` + gpt2 + `, "batch": 4, "dist": {"kind": "fsdp2", "world": 8, "load": "shared"}}`:                           `dist.load "shared" is not known; did you mean sharded?`,
		`{` + gpt2 + `, "batch": 4, "dist": {"kind": "fsdp2", "world": 8, "bucket_view": true}}`:                        `dist.bucket_view belongs to ddp`,
		`{` + gpt2 + `, "batch": 4, "dist": {"kind": "ddp", "world": 8, "param_dtype": "bf16"}}`:                        `dist.param_dtype and dist.reduce_dtype belong to fsdp1 and fsdp2`,
		`{` + gpt2 + `, "batch": 4, "allocator": "expandable_segment:True"}`:                                            `allocator: `,
		`{` + gpt2 + `, "batch": 4, "versions": {"torch": "1.13"}}`:                                                     `versions.torch: the allocator of PyTorch 1.13 is not modeled`,
		`{` + gpt2 + `, "batch": 4, "versions": {"torch": "new"}}`:                                                      `versions.torch: "new" is not a PyTorch version`,
		`{` + gpt2 + `, "batch": 4, "versions": {"transformers": "3.2"}}`:                                               `versions.transformers 3.2 is not supported; choose 4.30 to 5.17`,
		`{` + gpt2 + `, "batch": 4, "choices": 3}`:                                                                      `choices is 3, but gpt2 is trained as causal-lm, which does not choose between texts`,
		`[{"batch": 4}]`: `a setup is an object, not a list`,
		`"gpt2"`:         `a setup is an object, not "gpt2"`,
		`{"batch": 4`:    `not JSON: unexpected end of JSON input`,
		"batch: [":       `not YAML`,
		"a: &a [*a]":     `not YAML`,
		"":               `it contains no setup`,
	}
	files := source(fstest.MapFS{"list.json": {Data: []byte("[]")}, "broken.json": {Data: []byte("{\n,}")}})
	for text, want := range tests {
		_, err := oneSetup(text, files)
		switch {
		case err == nil:
			t.Errorf("%s: no error, want %q", text, want)
		case !strings.Contains(err.Error(), want):
			t.Errorf("%s:\n got %q\nwant %q", text, err, want)
		case strings.Contains(err.Error(), "\n"):
			t.Errorf("%s: more than one line: %q", text, err)
		}
	}
}

func TestConfigFiles(t *testing.T) {
	config := &fstest.MapFile{Data: []byte(`{"model_type": "gpt2", "n_layer": 2}`)}
	weights := "{\"a\":{\"dtype\":\"BF16\",\"shape\":[3],\"data_offsets\":[0,6]}}"
	files := source(fstest.MapFS{
		"run/config.json":                                config,
		"run/model.safetensors":                          {Data: append([]byte{byte(len(weights)), 0, 0, 0, 0, 0, 0, 0}, weights...)},
		"hub/models--me--mine/refs/main":                 {Data: []byte("abc\n")},
		"hub/models--me--mine/snapshots/abc/config.json": config,
		"hub/models--minegpt2/refs/main":                 {Data: []byte("abc\n")},
		"hub/models--minegpt2/snapshots/abc/config.json": config,
	})
	for _, model := range []string{`{"config": "run/config.json"}`, `{"config": "run"}`, `{"name": "me/mine"}`, `{"name": "minegpt2"}`, `{"name": "./run"}`} {
		s, err := oneSetup(`{"model": `+model+`, "batch": 1, "seq": 8}`, files)
		if err != nil {
			t.Errorf("%s: %v", model, err)
			continue
		}
		if s.Model.Config["n_layer"] != 2.0 {
			t.Errorf("%s: %v", model, s.Model.Config)
		}
		if beside := !strings.Contains(model, "mine"); beside != (s.Model.Weights != nil && s.Model.Weights.Main() == "BF16") {
			t.Errorf("%s: weights %+v", model, s.Model.Weights)
		}
	}
}

func TestReadMany(t *testing.T) {
	lines := "{\"id\": \"a\"}\n\n{\"id\": \n{\"id\": \"c\"}\n"
	raws, err := Read(strings.NewReader(lines))
	if err != nil {
		t.Fatal(err)
	}
	if len(raws) != 3 || raws[0].Line != 1 || raws[1].Err == nil || raws[2].Fields["id"] != "c" || raws[2].Line != 4 {
		t.Errorf("%+v", raws)
	}
	raws, err = Read(strings.NewReader("id: a\n---\nid: b\n"))
	if err != nil || len(raws) != 2 || raws[1].Fields["id"] != "b" {
		t.Errorf("%+v %v", raws, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"model": {"config": {"model_type": "gpt2"}}, "batch": 4}`))
	f.Add([]byte("model: {name: gpt2}\nbatch: 4\n---\nbatch: .nan\n"))
	f.Add([]byte("{\n[\n{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		raws, err := Read(strings.NewReader(string(data)))
		if err != nil {
			return
		}
		for _, r := range raws {
			if r.Err != nil {
				continue
			}
			s, err := Decode(r.Fields, Source{})
			if err == nil && (s.Batch < 1 || s.Steps < 1) {
				t.Errorf("accepted %+v", s)
			}
		}
	})
}

// TestShortForms checks that a rank alone means PEFT's defaults, and a number of GPUs alone means DDP.
func TestShortForms(t *testing.T) {
	s, err := Decode(map[string]any{
		"model": map[string]any{"name": "llama-3.2-1b"}, "batch": 4.0, "seq": 128.0,
		"lora": map[string]any{"rank": 16.0}, "dist": map[string]any{"world": 8.0},
	}, Source{})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.LoRA.Targets, " "); got != "q_proj v_proj" || !s.LoRA.PEFT {
		t.Errorf("LoRA with rank 16: targets %q, PEFT %v", got, s.LoRA.PEFT)
	}
	if s.Dist.Kind != DDP || s.Dist.World() != 8 {
		t.Errorf("8 GPUs: %+v", s.Dist)
	}
}

// TestHints checks that hints suggest the intended name or word, or list what is available.
func TestHints(t *testing.T) {
	for given, want := range map[string]string{
		`{"model": {"name": "resnet50"}, "batch": 4}`:                                             "did you mean torchvision/resnet50?",
		`{"model": {"name": "llama-3.3-70b-ins"}, "batch": 4, "seq": 8}`:                          "did you mean meta-llama/Llama-3.3-70B-Instruct?",
		`{"model": {"name": "gemma-3-999m"}, "batch": 4, "seq": 8}`:                               "it is neither built in (snug models lists those)",
		`{"model": {"name": "gpt2"}, "batch": 4, "seq": 8, "precision": "bf16-mixed"}`:            "did you mean amp-bf16?",
		`{"model": {"name": "gpt2"}, "batch": 4, "seq": 8, "precision": "fp8"}`:                   "known: fp32, amp-bf16, amp-fp16, bf16, fp16",
		`{"model": {"name": "gpt2"}, "batch": 4, "seq": 8, "optimizer": "adamw_torch_fused"}`:     "did you mean adamw-fused?",
		`{"model": {"name": "gpt2"}, "batch": 4, "seq": 8, "attention": "flash_attention_2"}`:     "did you mean flash?",
		`{"model": {"name": "gpt2"}, "batch": 4, "seq": 8, "dist": {"kind": "fsdp", "world": 2}}`: "did you mean fsdp2?",
	} {
		var fields map[string]any
		if err := json.Unmarshal([]byte(given), &fields); err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(fields, Source{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n got %v\nwant it to contain %q", given, err, want)
		}
	}
}
