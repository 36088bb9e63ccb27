// SPDX-License-Identifier: Apache-2.0

package systems

import "snug/internal/pattern"

const (
	diffusersArgs = "diffusers 0.42, examples/text_to_image/train_text_to_image.py"
	diffusersLoRA = "diffusers 0.42, examples/text_to_image/train_text_to_image_lora.py"
)

// diffusers is the program that trains Stable Diffusion's U-Net on images with captions.
var diffusers = System{
	Name: "diffusers", Title: "diffusers' train_text_to_image.py", Formats: shellOnly, ByName: true,
	Makes:   pattern.New(`(?m)^[^#\n]*\btrain_text_to_image\.py\b`, "train_text_to_image.py"),
	Keys:    keysOf(func() []Key { return flagsOf(diffusersKeys(diffusersArgs, onlyFull()...), anyLauncher()) }),
	Finding: programFinding(), Behavior: Behavior{Denoises: true},
	Loading: Loading{Loop: "diffusers"},
}

// diffusersAdapters is the program that trains LoRA adapters of the U-Net instead.
var diffusersAdapters = System{
	Name: "diffusers-lora", Title: "diffusers' train_text_to_image_lora.py", Formats: shellOnly, ByName: true,
	Makes:   pattern.New(`(?m)^[^#\n]*\btrain_text_to_image_lora\.py\b`, "train_text_to_image_lora.py"),
	Keys:    keysOf(func() []Key { return flagsOf(diffusersKeys(diffusersLoRA, onlyLoRA()...), anyLauncher()) }),
	Finding: programFinding(), Behavior: Behavior{Denoises: true},
	Loading: Loading{Loop: "diffusers"},
}

// diffusersKeys returns the flags that both programs share, followed by those in more.
func diffusersKeys(source string, more ...Key) []Key {
	small := func(path, does string) Key {
		return Key{Setting: "noted", Path: path, Kind: Present, Means: does, Then: takesMore, Source: source}
	}
	return append([]Key{
		{Setting: "model", Path: "pretrained_model_name_or_path", Kind: Name, Source: source},
		{Setting: "batch", Path: "train_batch_size", Kind: Whole, Unit: "samples per GPU", Default: "16", Source: source},
		{Setting: "accumulation", Path: "gradient_accumulation_steps", Kind: Whole, Unit: "forward passes", Default: "1", Source: source},
		{Setting: "resolution", Path: "resolution", Kind: Whole, Unit: "pixels", Default: "512", Source: source},
		{Setting: "checkpointing", Path: "gradient_checkpointing", Kind: Switch, Default: "false", Source: source},
		{Setting: "optimizer", Path: "use_8bit_adam", Kind: Switch, Means: "adamw-8bit", Source: source},
		{Setting: "optimizer", Kind: Word, Words: []Term{{"adamw", "adamw"}}, Default: "adamw", Source: source},
		{Setting: "workers", Path: "dataloader_num_workers", Kind: Whole, Unit: "processes per GPU", Default: "0", Source: source},
		{Setting: "refused", Path: "enable_xformers_memory_efficient_attention", Kind: Switch, Means: "uses xFormers' attention", Source: source},
		small("snr_gamma", "weights the loss of each image, which keeps a few small tensors"),
		small("noise_offset", "adds more noise, which takes a few small tensors"),
		small("validation_prompts", "generates images between epochs"),
		small("validation_prompt", "generates images between epochs"),
	}, more...)
}

// onlyFull are the flags of train_text_to_image.py.
func onlyFull() []Key {
	return []Key{
		{Setting: "clip", Path: "max_grad_norm", Kind: Above0, Default: "1.0", Source: diffusersArgs},
		{Setting: "refused", Path: "use_ema", Kind: Switch, Means: "keeps an average of the weights", Source: diffusersArgs},
		{Setting: "refused", Path: "dream_training", Kind: Switch, Means: "runs the U-Net twice", Source: diffusersArgs},
		{Setting: "noted", Path: "input_perturbation", Kind: Above0, Means: "adds more noise, which takes a few small tensors", Then: takesMore, Source: diffusersArgs},
	}
}

// onlyLoRA are the flags of train_text_to_image_lora.py. Its max_grad_norm has no effect: the program clips an iterator
// that the optimizer has used up.
func onlyLoRA() []Key {
	return []Key{
		{Setting: "lora.rank", Path: "rank", Kind: Whole, Default: "4", Source: diffusersLoRA},
		{Setting: "lora.targets", Kind: Names, Default: "to_k,to_q,to_v,to_out.0", Source: diffusersLoRA},
		{Setting: "lora.peft", Kind: Switch, Default: "true", Source: diffusersLoRA},
	}
}
