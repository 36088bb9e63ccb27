// SPDX-License-Identifier: Apache-2.0

package systems

const axolotlPlugged = "axolotl 0.19, integrations"

// axolotlPlugins returns the effects of plugins that a file turns on by name alone, without other keys. Liger's
// kernels have keys of their own (liger_keys.go).
func axolotlPlugins() []Key {
	named := func(setting string, then Deviation, words ...Term) Key {
		return Key{Setting: setting, Path: "plugins.*", Kind: Word, Words: words, Then: then, Source: axolotlPlugged}
	}
	return []Key{
		named("refused", "",
			Term{"axolotl.integrations.diffusion.DiffusionPlugin", "trains a denoising model, whose loss is not over the next token"},
			Term{"axolotl.integrations.kd.KDPlugin", distils},
			Term{"axolotl.integrations.nemo_gym.NemoGymPlugin", samplesFirst},
			Term{"axolotl.integrations.hatchery.HatcheryPlugin", "trains on a server"},
			Term{"axolotl.integrations.expert_parallel.ExpertParallelPlugin", splitsLayers},
			Term{"axolotl.integrations.mora.MoraPlugin", "trains adapters other than LoRA"}),
		named("noted", takesLess,
			Term{"axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin", "never computes the logits"},
			Term{"axolotl.integrations.spectrum.SpectrumPlugin", fewLayers}),
		named("noted", takesMore,
			Term{"axolotl.integrations.grokfast.GrokfastPlugin", "keeps an average of the gradients"}),
		unknownPlugins(),
		named("noted", takesEither,
			Term{"axolotl.integrations.kernels.KernelsPlugin", "replaces the experts' layers"},
			Term{"axolotl.integrations.densemixer.DenseMixerPlugin", "runs every expert"},
			Term{"axolotl.integrations.llm_compressor.LLMCompressorPlugin", "changes the weights while they are trained"}),
	}
}

// unknownPlugins returns the key for unknown plugins; known ones have no effect here.
func unknownPlugins() Key {
	k := Key{Setting: "noted", Path: "plugins.*", Kind: Word, Means: "is not known to snug", Then: takesEither, Source: axolotlPlugged}
	for _, name := range []string{
		"liger.LigerPlugin", "lm_eval.LMEvalPlugin", "swanlab.SwanLabPlugin", "diffusion.DiffusionPlugin", "kd.KDPlugin", "nemo_gym.NemoGymPlugin", "hatchery.HatcheryPlugin",
		"expert_parallel.ExpertParallelPlugin", "mora.MoraPlugin", "cut_cross_entropy.CutCrossEntropyPlugin", "spectrum.SpectrumPlugin", "grokfast.GrokfastPlugin", "kernels.KernelsPlugin",
		"densemixer.DenseMixerPlugin", "llm_compressor.LLMCompressorPlugin",
	} {
		k.Words = append(k.Words, Term{"axolotl.integrations." + name, ""})
	}
	return k
}

// axolotlOtherKernels returns the keys that replace the model's layers or weights.
func axolotlOtherKernels() []Key {
	quantized := func(path, does string) Key {
		return Key{Setting: "refused", Path: path, Kind: Present, Means: does, Source: axolotlSchema}
	}
	return []Key{
		{Setting: "quantized", Path: "gptq", Kind: Switch, Means: ByGPTQ, Source: axolotlSchema},
		quantized("model_quantization_config", "loads weights quantized by a library other than bitsandbytes"),
		quantized("use_onebitllms", "trains weights with fewer than two bits"),
		splits("expert_parallel_size", axolotlSchema),
		either("fp8", "multiplies matrices in 8 bits", axolotlSchema),
		either("flash_attn_fuse_mlp", "fuses the feed-forward layers", axolotlSchema),
		either("flash_attn_rms_norm", "replaces the norms", axolotlSchema),
		either("flash_attn_cross_entropy", "replaces the loss", axolotlSchema),
		either("s2_attention", "shifts attention between groups of tokens", axolotlSchema),
		either("llama4_linearized_experts", "turns the experts into linear layers", axolotlSchema),
		less("lora_on_cpu", "keeps adapters in CPU memory", axolotlSchema),
	}
}
