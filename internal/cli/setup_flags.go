// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"snug/internal/estimate"
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

	from    string // the files that the setup was found in, in words
	project origin // and what they say; zero where there are none
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
	{"optimizer", "optimizer", "", "`name`: adamw, adamw-fused, sgd-momentum, ..."},
	{"checkpointing", "checkpointing", "bool", "gradient checkpointing"},
	{"attention", "attention", "", "`kind`: " + strings.Join(setup.Attentions, ", ")},
	{"attention-mask", "attention_mask", "bool", "the batch carries a mask (default true)"},
	{"accumulation", "accumulation", "whole", "`forwards` per optimizer step"},
	{"clip", "clip", "bool", "clip the gradients' norm"},
	{"lora-rank", "lora.rank", "whole", "train LoRA adapters of this `rank`"},
	{"lora-alpha", "lora.alpha", "number", "their `scale`"},
	{"lora-dropout", "lora.dropout", "number", "their dropout, a `share`"},
	{"lora-targets", "lora.targets", "words", "`names` of linear layers: q_proj,v_proj; or all-linear"},
	{"lora-peft", "lora.peft", "bool", "PEFT's adapters: in float32, inputs cast to them"},
	{"dist", "dist.kind", "", "`kind`: ddp, fsdp2, fsdp2-noreshard, zero1, ..."},
	{"gpus", "dist.world", "whole", "`number` of GPUs the run is spread over"},
	{"bucket-view", "dist.bucket_view", "bool", "DDP's gradient_as_bucket_view"},
	{"param-dtype", "dist.param_dtype", "", "`type` of FSDP2's gathered parameters"},
	{"reduce-dtype", "dist.reduce_dtype", "", "`type` of FSDP2's reduced gradients"},
	{"allocator", "allocator", "", "a PYTORCH_ALLOC_CONF `string`"},
	{"limit", "limit", "", "the most PyTorch may reserve: a `size` like 24GiB"},
	{"torch", "versions.torch", "", "PyTorch `version` (default " + setup.NewestTorch + ")"},
	{"transformers", "versions.transformers", "", "transformers `version`"},
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
		case "bool":
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

// request is one setup that was asked about, or why it cannot be.
type request struct {
	id    string
	from  origin
	setup *setup.Setup
	err   error
}

// requestsOver lays fields over those of the file, or makes a setup of them
// alone.
func (f *setupFlags) requestsOver(env Env, over map[string]any) ([]request, error) {
	from := setup.Source{Open: env.Open, Hub: hub(env.Getenv), Profile: estimate.ReadProfile, Programs: map[string]setup.Program{}}
	if f.file == "" {
		if over["model"] == nil {
			return nil, errors.New("which model? give --model NAME, --config PATH or --setup FILE")
		}
		r := f.decode(over, from)
		r.from = f.project
		r.from.flags = f.given()
		return []request{r}, nil
	}
	in, err := env.open(f.file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	raws, err := setup.Read(in)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", f.file, reason(err))
	}
	if f.file != "-" {
		from.Base = filepath.Dir(f.file)
		over = fromHere(over)
	}
	var out []request
	for _, raw := range raws {
		if raw.Err != nil { // which says where
			out = append(out, request{err: fmt.Errorf("%s:%w", f.file, raw.Err)})
			continue
		}
		where := origin{flags: f.given(), under: maps.Clone(raw.Fields), place: fmt.Sprintf("%s:%d", f.file, raw.Line)}
		r := f.decode(lay(over, raw.Fields), from)
		r.from = where
		out = append(out, r)
	}
	return out, nil
}

// fromHere makes the path of a model that flags name one from here: beside a file
// of setups it would be seen from that file's folder.
func fromHere(over map[string]any) map[string]any {
	model, _ := over["model"].(map[string]any)
	for key, v := range model {
		at, _ := v.(string)
		isPath := key == "profile" || key == "config" || key == "name" && strings.HasPrefix(at, ".")
		if whole, err := filepath.Abs(at); isPath && at != "" && err == nil {
			model[key] = whole
		}
	}
	return over
}

func (f *setupFlags) decode(fields map[string]any, from setup.Source) request {
	if f.anyBatch && fields["batch"] == nil {
		fields["batch"] = 1.0
	}
	id, _ := fields["id"].(string)
	s, err := setup.Decode(fields, from)
	if err == nil && s.Model.Head == "image-classification" && f.flags.Changed("seq") {
		err = fmt.Errorf("--seq is given, and %s sees images, which have no tokens; leave it out", s.Model.Title())
	}
	if err == nil && s.Model.Program == nil && s.Model.Head != "seq2seq-lm" && f.flags.Changed("target-seq") {
		err = fmt.Errorf("--target-seq is given, and %s has no decoder beside its encoder; leave it out", s.Model.Title())
	}
	return request{id: id, setup: s, err: err}
}

// lay puts the fields of over on top of those of a file.
func lay(over, fields map[string]any) map[string]any {
	for k, v := range over {
		if in, ok := v.(map[string]any); ok {
			if under, ok := fields[k].(map[string]any); ok {
				if k == "model" && (in["name"] != nil || in["config"] != nil || in["profile"] != nil) {
					under = map[string]any{} // another model, not a second one
				}
				fields[k] = lay(in, under)
				continue
			}
		}
		fields[k] = v
	}
	return fields
}

// hub is where the Hugging Face libraries keep what they downloaded.
func hub(getenv func(string) string) string {
	if v := getenv("HF_HUB_CACHE"); v != "" {
		return v
	}
	home := getenv("HF_HOME")
	if home == "" {
		user := getenv("HOME")
		if user == "" {
			return ""
		}
		home = filepath.Join(user, ".cache", "huggingface")
	}
	return filepath.Join(home, "hub")
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
	card.Total = size
	return card, nil
}
