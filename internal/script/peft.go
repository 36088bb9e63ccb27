// SPDX-License-Identifier: Apache-2.0

package script

import (
	"slices"
	"strings"
)

// PEFT's LoRA: a config and the model it is applied to. Quantized models are in quantized.go.

// Adapters holds the contents of a LoraConfig, or of another method's config.
type Adapters struct {
	Rank    int      // rank of the adapters
	Dropout float64  // dropout on the adapters' input
	Targets []string // empty for PEFT's defaults for the model
	Save    []string // modules trained in full
	DoRA    bool     // use_dora
	Classes bool     // task_type is a classification, whose last layer PEFT trains in full

	Tuner         string   // the method in a setup's words, if the config is not a LoraConfig
	Feedforward   []string // IA3's targets whose inputs are scaled
	VirtualTokens int      // num_virtual_tokens
	EncoderHidden int      // encoder_hidden_size
	Projection    bool     // prefix_projection
	Block         int      // oft_block_size
}

func registerPEFT() {
	natives["peft.LoraConfig"] = newLoraConfig
	for class, make := range tunerConfigs {
		natives["peft."+class] = func(in *interpreter, a arguments) value {
			in.makesAdapters()
			c := &loraConfig{}
			make(in, c, a)
			c.Classes = classTask(a.or(-1, "task_type", nil))
			return c
		}
	}
	natives["peft.get_peft_model"] = peftModel
	for _, method := range otherTuners {
		natives["peft."+method+"Config"] = func(in *interpreter, a arguments) value {
			in.makesAdapters()
			return &otherTuner{method}
		}
	}
}

// otherTuners are PEFT's methods that are not simulated.
var otherTuners = []string{
	"BOFT", "HRA", "VBLoRA", "FourierFT", "XLora", "Poly", "LNTuning", "Bone", "MiSS", "RandLora",
	"MultitaskPromptTuning", "AdaptionPrompt", "CPT", "TrainableTokens", "C3A", "Shira",
}

// otherTuner is the config of one of these methods.
type otherTuner struct{ method string }

// makesAdapters records where a script makes its adapters.
func (in *interpreter) makesAdapters() {
	if in.result.MakesAdapters == "" {
		in.result.MakesAdapters = in.place()
	}
}

// loraConfig is a LoraConfig.
type loraConfig struct{ Adapters }

func newLoraConfig(in *interpreter, a arguments) value {
	c := &loraConfig{Adapters{Rank: 8}}
	in.makesAdapters()
	if r, ok := a.or(-1, "r", 8).(int); ok {
		c.Rank = r
	}
	c.Dropout, _ = number(a.or(-1, "lora_dropout", 0.0))
	c.Targets = texts(in, a.or(-1, "target_modules", nil))
	c.Save = texts(in, a.or(-1, "modules_to_save", nil))
	c.DoRA, _ = a.or(-1, "use_dora", false).(bool)
	c.Classes = classTask(a.or(-1, "task_type", nil))
	if b, ok := a.or(-1, "bias", "none").(string); ok && b != "none" {
		in.note("LoraConfig's bias=%s also trains biases, which is not counted", b)
	}
	for i, name := range a.names {
		if a.named[i] != nil && slices.Contains(otherAdapters, name) {
			in.note("LoraConfig's %s changes the adapters, which is not counted", name)
		}
	}
	return c
}

// otherAdapters are arguments of LoraConfig that change which weights adapters have (peft 0.19, tuners/lora/config.py).
var otherAdapters = []string{
	"monteclora_config", "arrow_config", "layer_replication", "layers_to_transform", "rank_pattern", "target_parameters",
	"trainable_token_indices", "use_bdlora", "use_qalora", "lora_bias",
}

// classTask reports whether a task_type classifies texts or tokens, or finds answers.
func classTask(v value) bool {
	name, ok := v.(string)
	if n, isName := v.(namespace); isName {
		name, ok = string(n), true
	}
	return ok && (strings.HasSuffix(name, "SEQ_CLS") || strings.HasSuffix(name, "TOKEN_CLS") || strings.HasSuffix(name, "QUESTION_ANS"))
}

// texts returns a list of strings, given as a list or as one string.
func texts(in *interpreter, v value) []string {
	if s, ok := v.(string); ok {
		return []string{s}
	}
	var out []string
	for _, x := range in.items(v, maxRange) {
		if s, ok := x.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// peftModel implements get_peft_model(model, config). A model that is not on the card yet gets its adapters
// before it is moved there.
func peftModel(in *interpreter, a arguments) value {
	n, ok := a.or(0, "model", nil).(*network)
	if other, is := a.or(1, "peft_config", nil).(*otherTuner); is {
		in.fail("get_peft_model with %sConfig is not simulated; measure the run: snug profile -- <your command>", other.method)
	}
	c, isLora := a.or(1, "peft_config", nil).(*loraConfig)
	if !ok || !isLora {
		in.note("the adapters that get_peft_model adds here are not followed")
		return hold(a.or(0, "model", nil))
	}
	n.adapted, in.result.Adapts = true, true
	if n.net == nil {
		n.loading.Adapters = &c.Adapters
	} else {
		in.adapt(n.net, c.Adapters)
	}
	if n.mode.Checkpointing {
		n.mode.InputGrads = true
	}
	return hold(n)
}

func (in *interpreter) adapt(net Net, a Adapters) {
	if in.Adapt == nil {
		in.note("adapters are not followed here")
		return
	}
	if err := in.Adapt(net, a); err != nil {
		in.fail("%v", err)
	}
}
