// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"snug/internal/setup"
	"snug/internal/shadow"
	"snug/internal/spelling"
)

// Setting is something about a run that files decide.
type Setting struct {
	// Name is the setup's field; workers and effective are the files' own.
	Name  string
	Kind  Kind
	Words []string // what it may be, for Kind Word
	What  string
}

// Settings is all of them, in the order in which people think of them.
func Settings() []Setting { return slices.Clone(settings()) }

var settings = sync.OnceValue(func() []Setting {
	return []Setting{
		{"model", Name, nil, "the model that is trained"},
		{"batch", Whole, nil, "samples per GPU per forward"},
		{"accumulation", Whole, nil, "forwards per optimizer step"},
		{"precision", Word, setup.Precisions, "types of weights and arithmetic"},
		{"weights", Word, setup.WeightTypes, "type that weights are loaded in, under autocast"},
		{"checkpointing", Switch, nil, "gradient checkpointing"},
		{"seq", Whole, nil, "tokens per sample"},
		{"positives", Whole, nil, "positive samples per anchor"},
		{"negatives", Whole, nil, "negative samples per anchor"},
		{"workers", Whole, nil, "processes that load data, per GPU"},
		{"optimizer", Word, shadow.OptimizerNames(), "the optimizer"},
		{"loss", Word, setup.Losses, "whose code computes a causal model's loss"},
		{"liger", Names, nil, "the layers that run on Liger's kernels"},
		{"attention", Word, setup.Attentions, "the implementation of attention"},
		{"clip", Switch, nil, "gradient norm clipping"},
		{"lora.rank", Whole, nil, "rank of LoRA's adapters"},
		{"lora.alpha", Number, nil, "their scale"},
		{"lora.dropout", Number, nil, "their dropout"},
		{"lora.targets", Names, nil, "the layers that get one"},
		{"lora.dora", Switch, nil, "DoRA: the lengths of the weights' rows are trained too"},
		{"lora.save", Names, nil, "layers that are trained whole beside them"},
		{"lora.peft", Switch, nil, "adapters as PEFT makes them: in float32, inputs cast to them"},
		{"quantization.bits", Whole, nil, "bits that bitsandbytes quantizes frozen weights to"},
		{"quantization.type", Word, setup.QuantTypes, "which numbers they stand for"},
		{"quantization.double", Switch, nil, "their scales are quantized too"},
		{"quantization.compute", Word, setup.ComputeTypes, "type that products with them are computed in"},
		{"quantization.prepare", Switch, nil, "what is not quantized becomes float32"},
		{"quantization.cast_back", Switch, nil, "norms, embeddings and head are cast back after that"},
		{"quantization.adapters", Word, setup.ComputeTypes, "type that adapters are cast to"},
		{"dist.kind", Word, setup.DistKinds, "how the run is spread over GPUs"},
		{"dist.world", Whole, nil, "how many GPUs"},
		{"dist.param_dtype", Word, []string{"fp32", "bf16", "fp16"}, "type of gathered parameters"},
		{"dist.load", Word, setup.Loads, "how weights come to each GPU that keeps a part of them"},
		{"effective", Whole, nil, "samples per optimizer step, over all GPUs"},
	}
})

// settingOrder is where each setting stands among them.
var settingOrder = sync.OnceValue(func() map[string]int {
	order := map[string]int{}
	for i, s := range settings() {
		order[s.Name] = i
	}
	return order
})

// isSetting tells whether a setup has a setting, or files alone.
func isSetting(name string) bool {
	_, ok := settingOrder()[name]
	return ok
}

// settingNames is what they are called.
func settingNames() []string {
	var out []string
	for _, s := range settings() {
		out = append(out, s.Name)
	}
	return out
}

// settingNamed looks a setting up.
func settingNamed(name string) (Setting, error) {
	if i, ok := settingOrder()[name]; ok {
		return settings()[i], nil
	}
	names := settingNames()
	return Setting{}, fmt.Errorf("setting %q is not known%s", name,
		spelling.Hint(name, names, "known are "+strings.Join(names, ", ")))
}

// ParseSetting reads "batch=8": a setting and its value, in a setup's terms.
func ParseSetting(text string) (name string, value any, err error) {
	name, raw, ok := strings.Cut(text, "=")
	name, raw = strings.TrimSpace(name), strings.TrimSpace(raw)
	if !ok || raw == "" {
		return "", nil, fmt.Errorf("%q is not a setting and a value; write it like batch=8", text)
	}
	s, err := settingNamed(name)
	if err != nil {
		return "", nil, err
	}
	value, err = s.parse(raw)
	return name, value, err
}

func (s Setting) parse(raw string) (any, error) {
	switch s.Kind {
	case Whole:
		n, err := strconv.Atoi(raw)
		if err != nil {
			return nil, fmt.Errorf("%s is %q; it has to be a whole number", s.Name, raw)
		}
		return n, s.Check(n)
	case Number:
		f, err := strconv.ParseFloat(raw, 64)
		if err != nil {
			return nil, fmt.Errorf("%s is %q; it has to be a number", s.Name, raw)
		}
		return f, s.Check(f)
	case Switch:
		switch strings.ToLower(raw) {
		case "true", "on", "yes":
			return true, nil
		case "false", "off", "no":
			return false, nil
		}
		return nil, fmt.Errorf("%s is %q; it has to be true or false", s.Name, raw)
	case Names:
		return strings.Split(raw, ","), nil
	}
	return raw, s.Check(raw)
}

// Check says what is wrong with a value for this setting.
func (s Setting) Check(value any) error {
	switch v := value.(type) {
	case int:
		if least := s.least(); v < least || v > 1<<30 {
			return fmt.Errorf("%s is %d; it has to be a whole number from %d on", s.Name, v, least)
		}
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			return fmt.Errorf("%s is %v; it has to be a number from 0 on", s.Name, v)
		}
	case string:
		if s.Kind == Word && !slices.Contains(s.Words, v) {
			return fmt.Errorf("%s %q is not known%s", s.Name, v,
				spelling.Hint(v, s.Words, "known are "+strings.Join(s.Words, ", ")))
		}
	}
	return nil
}

// least is the smallest number that makes sense.
func (s Setting) least() int {
	switch s.Name {
	case "workers", "positives", "negatives":
		return 0
	}
	return 1
}
