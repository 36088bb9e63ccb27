// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"slices"

	"snug/internal/pattern"
)

const (
	lmflowArgs  = "LMFlow 1.1, src/lmflow/args.py"
	lmflowModel = "LMFlow 1.1, src/lmflow/models/hf_model_mixin.py"
)

// lmflow is LMFlow's finetune.py: the trainer's flags, and its own for the model and the data. It is
// recognized by flags that no other program has.
var lmflow = System{
	Name: "lmflow", Title: "LMFlow", Formats: shellOnly, ByName: true,
	Makes: pattern.New(`(?m)^[^#\n]*\s--(?:disable_group_texts|use_lisa|lisa_activated_layers|use_customized_optim|conversation_template)\b`,
		"--disable_group_texts", "--use_lisa", "--lisa_activated_layers", "--use_customized_optim", "--conversation_template"),
	Keys:     keysOf(func() []Key { return flagsOf(lmflowKeys(), anyLauncher()) }),
	Finding:  programFinding(),
	Loading:  Loading{Loop: "trainer", LoadsTyped: true, SavedSince5: true},
	Sharding: Sharding{GathersInAutocast: true},
}

func lmflowKeys() []Key {
	keys := slices.DeleteFunc(hfKeys(), func(k Key) bool { return k.Path == "attn_implementation" })
	keys = append(keys,
		Key{Setting: "weights", Path: "torch_dtype", Kind: Word, Words: torchTypes, Default: "auto", Source: lmflowModel},
		Key{Setting: "seq", Path: "block_size", Kind: Whole, Unit: "tokens", Source: lmflowArgs},
		Key{Setting: "seq", Path: "model_max_length", Kind: Whole, Unit: "tokens", Source: lmflowArgs},
		Key{Setting: "attention", Path: "use_flash_attention", Kind: Word, Words: []Term{{"true", "flash"}, {"1", "flash"}, {"false", "sdpa"}, {"0", "sdpa"}}, Default: "false", Source: lmflowModel},
		Key{Setting: "lora", Path: "use_lora", Kind: Switch, Default: "false", Source: lmflowArgs},
		Key{Setting: "lora", Path: "use_qlora", Kind: Switch, Source: lmflowArgs + ": __post_init__"},
		Key{Setting: "lora.dora", Path: "use_dora", Kind: Switch, Source: lmflowModel},
		Key{Setting: "lora.rank", Path: "lora_r", Kind: Whole, Default: "8", Source: lmflowArgs},
		Key{Setting: "lora.alpha", Path: "lora_alpha", Kind: Number, Default: "32", Source: lmflowArgs},
		Key{Setting: "lora.dropout", Path: "lora_dropout", Kind: Number, Default: "0.1", Source: lmflowArgs},
		Key{Setting: "lora.targets", Path: "lora_target_modules", Kind: Names, Source: lmflowArgs},
		Key{Setting: "lora.peft", Kind: Switch, Default: "true", Source: lmflowModel + "; " + upcast},
		Key{Setting: "quantized", Path: "use_qlora", Kind: Switch, Means: FourBit, Quantizer: &Quantizer{Type: "nf4", Double: true}, Source: lmflowModel},
		Key{Setting: "quantization.type", Path: "quant_type", Kind: Word, Words: quantTypes, Default: "nf4", Source: lmflowArgs},
		Key{Setting: "quantization.double", Path: "double_quant", Kind: Switch, Default: "true", Source: lmflowArgs},
		Key{Setting: "quantization.compute", Kind: Word, Words: computeTypes, Default: "bfloat16", Source: lmflowModel},
		less("use_lisa", "trains some layers at a time and freezes the others", lmflowArgs),
		either("use_customized_optim", "uses one of LMFlow's own optimizers", lmflowArgs),
		Key{Setting: "refused", Path: "quant_bit", Kind: Word, Words: []Term{{"4", ""}, {"8", "quantizes weights to 8 bits"}}, Source: lmflowModel},
	)
	return append(keys, refusedFlags("trains an image encoder or a projection as well as the language model", lmflowArgs, "image_encoder_name_or_path", "image_folder", "custom_vision_model")...)
}
