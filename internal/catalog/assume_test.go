// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"strings"
	"testing"
)

func TestAssume(t *testing.T) {
	for name, want := range map[string]string{
		"NousResearch/Llama-3.2-1B-Instruct":                      "meta-llama/Llama-3.2-1B-Instruct",
		"someone/bert-base-uncased":                               "bert-base",
		"./models/Llama-2-7b-hf":                                  "llama-2-7b",
		"/data/llama2-7b/":                                        "llama-2-7b",
		"/data/Llama-2-7b-hf/checkpoint-500":                      "llama-2-7b",
		`C:\models\Qwen2.5-7B`:                                    "qwen2.5-7b",
		"/hub/models--gpt2/snapshots/" + strings.Repeat("a1", 20): "gpt2",
		"/hub/models--meta-llama--Llama-3.2-1B":                   "llama-3.2-1b",
		"princeton-nlp/Llama-3-Base-8B-SFT":                       "llama-3-8b",
		"unsloth/Meta-Llama-3.1-8B-bnb-4bit":                      "unsloth/Meta-Llama-3.1-8B saved by bitsandbytes in 4 bits (nf4, double quantization)",
		"unsloth/Qwen2.5-7B-unsloth-bnb-4bit":                     "qwen2.5-7b saved by bitsandbytes in 4 bits (nf4, double quantization); unsloth keeps some of its layers in 16 bits, which takes more",
		"casperhansen/llama-3-70b-fp16":                           "llama-3-70b",
		"unsloth/phi-4-bnb-4bit":                                  "unsloth/phi-4 saved by bitsandbytes in 4 bits (nf4, double quantization)",
		"someone/phi-4":                                           "microsoft/phi-4",
		"HuggingFaceTB/SmolLM3-3B-checkpoints":                    "smollm3-3b",
		"/data/Llama-2-7b-hf/original":                            "llama-2-7b",
		"t5":                                                      "",
		"someone/Llama-2-7b-chinese":                              "",
		"someone/Mistral-7B-v0.9":                                 "",
		"TheBloke/Llama-2-7B-GPTQ":                                "llama-2-7b quantized by GPTQ (4 bits, groups of 128 assumed)",
		"Qwen/Qwen2.5-7B-Instruct-GPTQ-Int8":                      "Qwen/Qwen2.5-7B-Instruct quantized by GPTQ (8 bits, groups of 128 assumed)",
		"someone/llama-2-7b-gptq-4bit-32g":                        "llama-2-7b quantized by GPTQ (4 bits, groups of 32)",
		"TheBloke/Llama-2-7B-AWQ":                                 "llama-2-7b quantized by AWQ (4 bits, groups of 128 assumed)",
		"someone/Llama-2-7B-HQQ":                                  "",
		"vit_base_patch16_224":                                    "",
		"":                                                        "",
		"/":                                                       "",
		"checkpoint-500":                                          "",
	} {
		e, got := Assume(name)
		if got != want || (e == nil) != (want == "") {
			t.Errorf("%s is assumed to be %q, want %q", name, got, want)
		}
	}
}

// TestAssumeSavedQuantized checks that a checkpoint saved in 4 bits has a quantization_config, and the original model
// does not.
func TestAssumeSavedQuantized(t *testing.T) {
	e, _ := Assume("unsloth/Meta-Llama-3.1-8B-bnb-4bit")
	if q, _ := e.Config["quantization_config"].(map[string]any); q["load_in_4bit"] != true {
		t.Errorf("the quantization is %v", e.Config["quantization_config"])
	}
	if q := Find("meta-llama/Meta-Llama-3.1-8B").Config["quantization_config"]; q != nil {
		t.Errorf("the original is quantized: %v", q)
	}
}

// TestAssumeType checks that a copy in another type has that type.
func TestAssumeType(t *testing.T) {
	if e, _ := Assume("casperhansen/llama-3-70b-fp16"); e == nil || e.Config["dtype"] != "float16" {
		t.Errorf("the copy is %+v", e)
	}
}

// TestAssumeOwnCode checks that checkpoints with code of their own are not taken for those in transformers' format.
func TestAssumeOwnCode(t *testing.T) {
	for name, want := range map[string]bool{
		"OpenGVLab/InternVL3-8B": false, "OpenGVLab/InternVL3-8B-hf": true, "liuhaotian/llava-v1.6-mistral-7b": false,
		"llava-hf/llava-v1.6-mistral-7b-hf": true, "./models/internvl3-8b-hf": true,
	} {
		if e, _ := Assume(name); (e != nil) != want {
			t.Errorf("%s: %v", name, e)
		}
	}
}

func TestUnsimulated(t *testing.T) {
	for name, want := range map[string]string{
		"tiiuae/falcon-mamba-7b":             "a FalconMamba model",
		"tiiuae/Falcon3-7B-Base":             "",
		"microsoft/deberta-base-mnli":        "a DeBERTa model of the first version",
		"facebook/galactica-1.3b":            "a Galactica model",
		"TheBloke/Llama-2-7B-GPTQ":           "",
		"Qwen/Qwen2.5-7B-Instruct-AWQ":       "",
		"someone/Qwen2.5-7B-HQQ":             "a checkpoint with quantized weights (HQQ)",
		"01-ai/Yi-6B-Chat-4bits":             "a checkpoint with quantized weights (4 bits)",
		"Qwen/Qwen2.5-VL-7B-Instruct":        "",
		"someone/Other-VL-7B":                "a multimodal model (vl)",
		"OpenGVLab/InternVL3-8B":             "a model for more than text (InternVL)",
		"OpenGVLab/InternVL3-8B-hf":          "",
		"liuhaotian/llava-v1.6-mistral-7b":   "a model for more than text (LLaVA)",
		"Qwen/Qwen9-57B-A14B":                "a mixture of experts (a14b)",
		"timm/resnet50.a1_in1k":              "a timm model",
		"facebook/sam2-hiera-tiny":           "a SAM model",
		"deepseek-ai/DeepSeek-V3.1":          "a DeepSeek-V3 model",
		"someone/SmolLM-300M":                "",
		"ehartford/samantha-mistral-7b":      "",
		"deepseek-ai/DeepSeek-R1":            "a DeepSeek-V3 model",
		"deepseek-ai/DeepSeek-R1-Distill-Mo": "",
		"someone/my-model":                   "",
		"":                                   "",
	} {
		if got := Unsimulated(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// TestLongName checks that a text of a million words is compared by its first few words.
func TestLongName(t *testing.T) {
	name := strings.Repeat("a-", 1<<20)
	if got := Unsimulated(name + "falcon-mamba-7b"); got != "" {
		t.Errorf("it is %q", got)
	}
	if e, _ := Assume(name + "llama-2-7b"); e != nil {
		t.Errorf("it is assumed to be %s", e.Name)
	}
}

// TestKnownNamesAreSimulated checks that no name in the table belongs to a family that is not simulated, because such
// a row would hide a misspelled name.
func TestKnownNamesAreSimulated(t *testing.T) {
	for _, e := range all() {
		kind, _ := e.Config["model_type"].(string)
		if what := Unsimulated(e.Hub); what != "" && !strings.HasSuffix(kind, "_moe") {
			t.Errorf("%s is known, but also %s", e.Hub, what)
		}
	}
}
