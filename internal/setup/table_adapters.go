// SPDX-License-Identifier: Apache-2.0

package setup

// adapterSettings returns the rows for frozen weights and for the adapters trained with them.
func adapterSettings() []Setting {
	return []Setting{
		{
			Name: "lora.rank", Flags: one("lora-rank"), What: "`rank` of the LoRA adapters", Least: 1, Most: maxRank,
			Required: " is missing; 8 or 16 is usual", Use: InFiles, Phrases: (*Setup).loraPhrase,
			Evidence: where(func(s *Setup) bool { return s.LoRA != nil }, "lora"),
			at:       func(s *Setup) any { return &s.LoRA.Rank },
		},
		{
			Name: "lora.alpha", Flags: one("lora-alpha"), What: "`scale` of the LoRA adapters (alpha)", Most: 1e6, Use: InFiles,
			at: func(s *Setup) any { return &s.LoRA.Alpha },
		},
		{
			Name: "lora.dropout", Flags: one("lora-dropout"), What: "dropout `probability` of the LoRA adapters", Most: 1, Use: InFiles,
			at: func(s *Setup) any { return &s.LoRA.Dropout },
		},
		{
			Name: "lora.targets", Flags: one("lora-targets"), What: "`names` of the linear layers to adapt, like q_proj,v_proj; or all-linear", Use: InFiles,
			at: func(s *Setup) any { return &s.LoRA.Targets },
		},
		{
			Name: "lora.dora", Flags: one("lora-dora"), What: "DoRA: also train the magnitudes of the weight rows", Use: InFiles,
			Evidence: where(func(s *Setup) bool { return s.LoRA != nil && s.LoRA.DoRA }, "dora"),
			at:       func(s *Setup) any { return &s.LoRA.DoRA },
		},
		{
			Name: "lora.save", Flags: one("lora-save"), What: "`names` of layers to train in full (PEFT's modules_to_save)", Use: InFiles,
			Phrases:  phrase(func(s *Setup) bool { return s.LoRA != nil && len(s.LoRA.Save) > 0 }, "%s trained in full", func(s *Setup) any { return spaced(s.LoRA.Save) }),
			Evidence: where(func(s *Setup) bool { return s.LoRA != nil && len(s.LoRA.Save) > 0 }, "lora with whole layers"),
			at:       func(s *Setup) any { return &s.LoRA.Save },
		},
		{
			Name: "lora.tuner", Flags: one("tuner"), What: "PEFT's `method`", Words: Tuners, Default: LoRATuner, Use: InFiles,
			Evidence: (*Setup).tunerEvidence,
			at:       func(s *Setup) any { return &s.LoRA.Tuner },
		},
		{
			Name: "lora.virtual_tokens", Flags: one("virtual-tokens"), What: "`number` of virtual tokens per sample, with prompt tuning, p-tuning and prefix tuning", Most: maxSeq, Use: InFiles,
			at: func(s *Setup) any { return &s.LoRA.Virtual },
		},
		{
			Name: "lora.encoder_hidden", Flags: one("prompt-encoder-hidden"), What: "`width` of the MLP of p-tuning, or of prefix tuning with a projection", Most: maxRank, Use: InFiles,
			at: func(s *Setup) any { return &s.LoRA.Encoder },
		},
		{
			Name: "lora.prefix_projection", Flags: one("prefix-projection"), What: "PEFT's prefix_projection: an MLP computes the prefix", Use: InFiles,
			at: func(s *Setup) any { return &s.LoRA.Projection },
		},
		{
			Name: "lora.oft_block_size", Flags: one("oft-block-size"), What: "`size` of the blocks that OFT rotates (default 32)", Most: maxRank, Use: InFiles,
			at: func(s *Setup) any { return &s.LoRA.Block },
		},
		{
			Name: "lora.feedforward", Flags: one("ia3-feedforward"), What: "`names` of the layers whose inputs IA3 scales, instead of their outputs", Use: InFiles,
			at: func(s *Setup) any { return &s.LoRA.Feedforward },
		},
		{
			Name: "lora.peft", Flags: one("lora-peft"), What: "adapters as in PEFT: in float32, with inputs cast to float32", Use: InFiles,
			// in float32 runs, PEFT's adapters are the same as any others
			Evidence: where(func(s *Setup) bool { return s.LoRA != nil && s.LoRA.PEFT && s.Precision != FP32 }, "lora made by PEFT"),
			at:       func(s *Setup) any { return &s.LoRA.PEFT },
		},
		{
			Name: "quantization.bits", What: "`bits` of quantized frozen weights", Least: 1, Most: 16,
			Flags: []Flag{
				{Name: "load-in-4bit", Means: 4, What: "4-bit frozen weights from bitsandbytes: QLoRA, with PEFT adapters"},
				{Name: "load-in-8bit", Means: 8, What: "8-bit frozen weights from bitsandbytes (LLM.int8), with PEFT adapters"},
			},
			Required: " is missing; the other settings of quantization need it: 4 or 8", Use: InFiles,
			Phrases:  phrase(func(s *Setup) bool { return s.Quantization != nil }, "%s", func(s *Setup) any { return s.Quantization }),
			Evidence: (*Setup).quantizedEvidence, Lever: &quantizationLever,
			at: func(s *Setup) any { return &s.Quantization.Bits },
		},
		{
			Name: "quantization.method", Flags: one("quant-method"), What: "`library` that quantized the weights", Words: QuantMethods, Use: InFiles,
			at: func(s *Setup) any { return &s.Quantization.Method },
		},
		{
			Name: "quantization.group_size", Flags: one("quant-group-size"), What: "`inputs` that share a scale in weights quantized by GPTQ or AWQ (default 128); -1: all of them", Least: -1, Most: maxGroup, Use: InFiles,
			at: func(s *Setup) any { return &s.Quantization.Group },
		},
		{
			Name: "quantization.kernel", Flags: one("gptq-kernel"), What: "`layers` that compute with weights quantized by GPTQ", Words: GPTQKernels, Use: InFiles,
			at: func(s *Setup) any { return &s.Quantization.Kernel },
		},
		{
			Name: "quantization.type", Flags: one("bnb-4bit-quant-type"), What: "`type` of the 4-bit weights", Words: QuantTypes, Default: NF4, Use: InFiles,
			at: func(s *Setup) any { return &s.Quantization.Type },
		},
		{
			Name: "quantization.double", Flags: one("bnb-4bit-use-double-quant"), What: "double quantization: also quantize the scales", Use: InFiles,
			Lever: &doubleLever,
			at:    func(s *Setup) any { return &s.Quantization.Double },
		},
		{
			Name: "quantization.compute", Flags: one("bnb-4bit-compute-dtype"), What: "`type` to compute in with quantized weights", Words: ComputeTypes, Default: BF16, Use: InFiles,
			Phrases: phrase(func(s *Setup) bool { return s.Quantization != nil && s.Quantization.Compute != "" }, "computed in %s", func(s *Setup) any { return s.Quantization.Compute }),
			at:      func(s *Setup) any { return &s.Quantization.Compute },
		},
		{
			Name: "quantization.prepare", Flags: one("prepare-kbit"), What: "PEFT's prepare_model_for_kbit_training: cast unquantized weights to float32", Use: InFiles,
			Phrases: (*Setup).unquantizedPhrase,
			at:      func(s *Setup) any { return &s.Quantization.Prepare },
		},
		{
			Name: "quantization.cast_back", Flags: one("prepare-cast-back"), What: "cast norms, embeddings and head back afterwards, as Axolotl does", Use: InFiles,
			at: func(s *Setup) any { return &s.Quantization.CastBack },
		},
		{
			Name: "quantization.adapters", Flags: one("adapter-dtype"), What: "`type` to cast adapters to (bf16 in TRL)", Words: ComputeTypes, Use: InFiles,
			Phrases: phrase(func(s *Setup) bool { return s.Quantization != nil && s.Quantization.Adapters != "" }, "adapters in %s", func(s *Setup) any { return s.Quantization.Adapters }),
			at:      func(s *Setup) any { return &s.Quantization.Adapters },
		},
	}
}
