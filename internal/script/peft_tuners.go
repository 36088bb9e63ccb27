// SPDX-License-Identifier: Apache-2.0

package script

import "strings"

// tunerConfigs has PEFT's configs of methods besides LoRA, with their arguments and defaults (PEFT 0.21).
var tunerConfigs = map[string]func(in *interpreter, c *loraConfig, a arguments){
	"IA3Config": func(in *interpreter, c *loraConfig, a arguments) {
		c.Tuner = "ia3"
		c.layers(in, a)
		c.Feedforward = texts(in, a.or(-1, "feedforward_modules", nil))
	},
	"AdaLoraConfig": func(in *interpreter, c *loraConfig, a arguments) {
		c.Tuner = "adalora"
		c.layers(in, a)
		c.Rank = integer(a, "init_r", 12)
		c.Dropout, _ = number(a.or(-1, "lora_dropout", 0.0))
	},
	"VeraConfig": func(in *interpreter, c *loraConfig, a arguments) {
		c.Tuner = "vera"
		c.layers(in, a)
		c.Rank = integer(a, "r", 256)
		c.Dropout, _ = number(a.or(-1, "vera_dropout", 0.0))
	},
	"LoHaConfig": func(in *interpreter, c *loraConfig, a arguments) { c.lycoris(in, a, "loha") },
	"LoKrConfig": func(in *interpreter, c *loraConfig, a arguments) { c.lycoris(in, a, "lokr") },
	"OFTConfig": func(in *interpreter, c *loraConfig, a arguments) {
		c.Tuner, c.Block = "oft", integer(a, "oft_block_size", 32)
		c.layers(in, a)
		in.only(a, "r", 0)
		in.only(a, "module_dropout", 0.0)
		in.only(a, "coft", false)
		in.only(a, "block_share", false)
		in.only(a, "use_cayley_neumann", true)
		in.only(a, "num_cayley_neumann_terms", 5)
	},
	"PromptTuningConfig": func(in *interpreter, c *loraConfig, a arguments) {
		c.virtual(in, a, "prompt")
	},
	"PromptEncoderConfig": func(in *interpreter, c *loraConfig, a arguments) {
		c.virtual(in, a, "p-tuning")
		c.EncoderHidden = integer(a, "encoder_hidden_size", 0)
		in.only(a, "encoder_reparameterization_type", "MLP")
	},
	"PrefixTuningConfig": func(in *interpreter, c *loraConfig, a arguments) {
		c.virtual(in, a, "prefix")
		c.Projection, _ = a.or(-1, "prefix_projection", false).(bool)
		if c.Projection {
			c.EncoderHidden = integer(a, "encoder_hidden_size", 0)
		}
	},
}

// layers reads the arguments that name layers.
func (c *loraConfig) layers(in *interpreter, a arguments) {
	c.Targets = texts(in, a.or(-1, "target_modules", nil))
	c.Save = texts(in, a.or(-1, "modules_to_save", nil))
}

// lycoris reads a LoHaConfig or a LoKrConfig.
func (c *loraConfig) lycoris(in *interpreter, a arguments, tuner string) {
	c.Tuner = tuner
	c.layers(in, a)
	c.Rank = integer(a, "r", 8)
	c.Dropout, _ = number(a.or(-1, "module_dropout", 0.0))
	in.only(a, "rank_dropout", 0.0)
	in.only(a, "decompose_both", false)
	in.only(a, "decompose_factor", -1)
}

// virtual reads the arguments of a config with virtual tokens.
func (c *loraConfig) virtual(in *interpreter, a arguments, tuner string) {
	c.Tuner, c.VirtualTokens = tuner, integer(a, "num_virtual_tokens", 0)
	c.Save = texts(in, a.or(-1, "modules_to_save", nil))
	for _, name := range []string{"token_dim", "num_transformer_submodules", "num_attention_heads", "num_layers"} {
		in.only(a, name, nil)
	}
}

// only fails unless an argument has its default, which is the only value that is simulated.
func (in *interpreter) only(a arguments, name string, usual value) {
	v := a.or(-1, name, usual)
	if n, isName := v.(namespace); isName {
		v = string(n)
	}
	if text, ok := v.(string); ok && usual != nil && text[strings.LastIndexByte(text, '.')+1:] == usual {
		return
	}
	if v == nil || v == usual {
		return
	}
	if n, isNumber := number(v); isNumber {
		if m, same := number(usual); same && n == m {
			return
		}
	}
	in.fail("%s=%v is not simulated; measure the run: snug profile -- <your command>", name, v)
}

// integer returns an integer argument.
func integer(a arguments, name string, usual int) int {
	n, _ := a.or(-1, name, usual).(int)
	return n
}
