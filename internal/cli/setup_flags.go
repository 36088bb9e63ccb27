// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"snug/internal/gpu"
	"snug/internal/setup"
)

// setupFlags are the flags of the commands that take a setup: a file, a flag for
// each field, and the card. A flag beside a file overrides the file's field.
type setupFlags struct {
	file      string
	gpu       string
	gpuMemory string
	model     string
	config    string
	flags     *pflag.FlagSet
	anyBatch  bool // the command looks for a batch, so that none need be given

	from    string   // the files that the setup was found in, in words
	project origin   // and what they say; zero where there are none
	doubts  []string // and what of them no figure shows
}

// fieldFlag is a flag that stands for one field of a setup.
type fieldFlag struct {
	flag  string
	field string // "lora.rank" is the field rank of the object lora
	kind  string // "whole", "number", "words", "bool", or "" for text
	usage string
}

// In a usage, the word in back quotes stands for the value in the help text.
var fieldFlags = []fieldFlag{
	{"head", "model.head", "", "what is trained: a `head` like causal-lm, encoder"},
	{"batch", "batch", "whole", "`samples` per GPU per forward"},
	{"seq", "seq", "whole", "`tokens` per sample (default: the model's maximum)"},
	{"target-seq", "target_seq", "whole", "`tokens` of the decoder per sample"},
	{"positives", "positives", "whole", "positive `samples` per anchor"},
	{"negatives", "negatives", "whole", "negative `samples` per anchor"},
	{"precision", "precision", "", "`type`: " + strings.Join(setup.Precisions, ", ")},
	{"weights", "weights", "", "`type` that weights are loaded in, under autocast: " + strings.Join(setup.WeightTypes, ", ")},
	{"optimizer", "optimizer", "", "`name`: adamw, adamw-fused, sgd-momentum, ..."},
	{"checkpointing", "checkpointing", "bool", "gradient checkpointing"},
	{"loss", "loss", "", "`whose` code computes a causal model's loss: model (all logits at once), trl (SFTTrainer of TRL 1.15 and later), liger"},
	{"liger", "liger", "words", "`layers` that run on Liger's kernels: " + strings.Join(setup.LigerParts, ",") + "; or all"},
	{"attention", "attention", "", "`kind`: " + strings.Join(setup.Attentions, ", ")},
	{"attention-mask", "attention_mask", "bool", "the batch carries a mask (default true)"},
	{"accumulation", "accumulation", "whole", "`forwards` per optimizer step"},
	{"clip", "clip", "bool", "clip the gradients' norm"},
	{"lora-rank", "lora.rank", "whole", "train LoRA adapters of this `rank`"},
	{"lora-alpha", "lora.alpha", "number", "their `scale`"},
	{"lora-dropout", "lora.dropout", "number", "their dropout, a `share`"},
	{"lora-targets", "lora.targets", "words", "`names` of linear layers: q_proj,v_proj; or all-linear"},
	{"lora-peft", "lora.peft", "bool", "PEFT's adapters: in float32, inputs cast to them"},
	{"lora-dora", "lora.dora", "bool", "DoRA: the lengths of the weights' rows are trained too"},
	{"lora-save", "lora.save", "words", "`names` of layers that are trained whole: PEFT's modules_to_save"},
	{"load-in-4bit", "quantization.bits", "4", "4-bit frozen weights of bitsandbytes: QLoRA, with PEFT's adapters"},
	{"load-in-8bit", "quantization.bits", "8", "8-bit ones"},
	{"bnb-4bit-quant-type", "quantization.type", "", "`type` of 4-bit numbers: " + strings.Join(setup.QuantTypes, ", ") + " (default nf4)"},
	{"bnb-4bit-use-double-quant", "quantization.double", "bool", "double quantization: their scales are quantized too"},
	{"bnb-4bit-compute-dtype", "quantization.compute", "", "`type` that products with them are computed in: " + strings.Join(setup.ComputeTypes, ", ") + " (default bf16)"},
	{"prepare-kbit", "quantization.prepare", "bool", "PEFT's prepare_model_for_kbit_training: what is not quantized becomes float32"},
	{"prepare-cast-back", "quantization.cast_back", "bool", "norms, embeddings and head are cast back after that, as Axolotl does"},
	{"adapter-dtype", "quantization.adapters", "", "`type` that adapters are cast to: " + strings.Join(setup.ComputeTypes, ", ") + " (bf16 in TRL)"},
	{"dist", "dist.kind", "", "`kind`: ddp, fsdp2, zero1 (PyTorch's), zero1-deepspeed, zero2, ..."},
	{"gpus", "dist.world", "whole", "`number` of GPUs the run is spread over"},
	{"bucket-view", "dist.bucket_view", "bool", "DDP's gradient_as_bucket_view"},
	{"param-dtype", "dist.param_dtype", "", "`type` of FSDP2's gathered parameters"},
	{"reduce-dtype", "dist.reduce_dtype", "", "`type` of FSDP2's reduced gradients"},
	{"dist-load", "dist.load", "", "weights come to each GPU `how`: whole, sharded (meta device, zero.Init)"},
	{"allocator", "allocator", "", "a PYTORCH_ALLOC_CONF `string`"},
	{"limit", "limit", "", "the most PyTorch may reserve: a `size` like 24GiB"},
	{"torch", "versions.torch", "", "PyTorch `version` (default " + setup.NewestTorch + ")"},
	{"transformers", "versions.transformers", "", "transformers `version`"},
	{"bitsandbytes", "versions.bitsandbytes", "", "bitsandbytes `version`"},
	{"steps", "steps", "whole", "simulate this `number` of steps (default 3)"},
}

func (f *setupFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.SortFlags = false
	f.flags = fs
	fs.StringVar(&f.file, "setup", "", "`file` of setups, JSON or YAML (- is stdin)")
	fs.StringVar(&f.model, "model", "", "`name`: built in, org/name in the HF cache, a path, a .snug profile")
	fs.StringVar(&f.config, "config", "", "`path` of a config.json or its folder")
	for _, x := range fieldFlags {
		switch x.kind {
		case "bool", "4", "8":
			fs.Bool(x.flag, false, x.usage)
		case "whole":
			fs.Int(x.flag, 0, x.usage)
		case "number":
			fs.Float64(x.flag, 0, x.usage)
		case "words":
			fs.StringSlice(x.flag, nil, x.usage)
		default:
			fs.String(x.flag, "", x.usage)
		}
	}
	fs.StringVar(&f.gpu, "gpu", "", "`name` of the card to fit: H200, RTX-4090, ...")
	fs.StringVar(&f.gpuMemory, "gpu-memory", "", "its memory: a `size` like 24 (GiB), 24GiB or 24GB")
}

// profileExt is how the name of a profile ends.
const profileExt = ".snug"

// fields is what the flags say, as a setup file would.
func (f *setupFlags) fields() (map[string]any, error) {
	out := map[string]any{}
	if f.model != "" && f.config != "" {
		return nil, errors.New("--model and --config are two models; give one of them")
	}
	switch {
	case strings.HasSuffix(f.model, profileExt):
		setup.Put(out, "model.profile", f.model)
	case f.model != "":
		setup.Put(out, "model.name", f.model)
	}
	if f.config != "" {
		setup.Put(out, "model.config", f.config)
	}
	for _, x := range fieldFlags {
		if !f.flags.Changed(x.flag) {
			continue
		}
		setup.Put(out, x.field, f.value(x))
	}
	if _, has := out["dist"]; has {
		if d := out["dist"].(map[string]any); d["kind"] == nil && f.file == "" && d["world"] == 1.0 {
			delete(out, "dist") // --gpus 1 is no distribution
		}
	}
	return out, nil
}

// value is a flag's value as JSON would have it.
func (f *setupFlags) value(x fieldFlag) any {
	switch x.kind {
	case "bool":
		v, _ := f.flags.GetBool(x.flag)
		return v
	case "4":
		return 4.0
	case "8":
		return 8.0
	case "whole":
		v, _ := f.flags.GetInt(x.flag)
		return float64(v)
	case "number":
		v, _ := f.flags.GetFloat64(x.flag)
		return v
	case "words":
		names, _ := f.flags.GetStringSlice(x.flag)
		var list []any
		for _, n := range names {
			list = append(list, strings.TrimSpace(n))
		}
		return list
	}
	v, _ := f.flags.GetString(x.flag)
	return v
}

// card is the GPU that was named, or one of the memory that was given; without
// either, the reference without a size.
func (f *setupFlags) card() (gpu.Card, error) {
	card := gpu.Reference
	card.Total = 0
	var err error
	if f.gpu != "" {
		if card, err = gpu.Find(f.gpu); err != nil {
			return card, err
		}
	}
	if f.gpuMemory == "" {
		return card, nil
	}
	size, err := gpu.ParseMemory(f.gpuMemory)
	if err != nil {
		return card, fmt.Errorf("--gpu-memory: %w", err)
	}
	if f.gpu == "" {
		return gpu.ForMemory(size), nil
	}
	card.Resized = size != card.Total
	card.Total = size
	return card, nil
}
