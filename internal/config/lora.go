// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"snug/internal/setup"
)

// What trainers have in common about LoRA: nearly all leave it to PEFT, and PEFT
// casts adapters of 16 bits to float32 unless it is told otherwise. What the
// frozen weights are loaded in is another matter than autocast: an adapter on
// weights of bfloat16 under autocast to bfloat16 is what most people run.

// upcast is where PEFT does so.
const (
	upcast     = "autocast_adapter_dtype is on in peft 0.16 to 0.21, mapping_func.py"
	peftConfig = "peft 0.16, tuners/lora/config.py"
)

// torchTypes is the types that models are loaded in.
var torchTypes = []word{{"bfloat16", "bf16"}, {"float16", "fp16"}, {"float32", "fp32"}, {"auto", setup.Saved}}

// deciding is a key that decides over something else too.
func (k Key) deciding(setting string) Key {
	k.Setting = setting
	return k
}

// said is what files say of a setting, or else the system by itself.
func (p *Project) said(setting string) any {
	if v := p.Value(setting); v != nil {
		return v
	}
	return p.fallback(setting)
}

// lora drops adapters that are not in use, and says how the others are made.
func (p *Project) lora(out map[string]any) {
	in, _ := out["lora"].(map[string]any)
	if in == nil || !p.adapts() || in["rank"] == nil {
		delete(out, "lora")
		return
	}
	p.targets(in)
	p.adapterTypes(out, in)
}

// adapts tells whether LoRA is on.
func (p *Project) adapts() bool {
	if on, ok := p.said("lora").(bool); ok {
		return on
	}
	return len(p.of("lora.rank")) > 0
}

// idle is a setting that says nothing while LoRA is off: its key is another's.
func (p *Project) idle(setting string) bool { return setting == "lora.base" && !p.adapts() }

// targets are the layers by the names that setups have for them.
func (p *Project) targets(in map[string]any) {
	targets, _ := in["targets"].([]any)
	all := slices.ContainsFunc(targets, func(t any) bool { return t == "all" || t == setup.AllLinear })
	if all || p.Value("lora.linear") == true {
		in["targets"] = []any{setup.AllLinear}
		return
	}
	for i, t := range targets {
		if t == "output_proj" { // torchtune's name
			targets[i] = "o_proj"
		}
	}
}

// adapterTypes says whether adapters are float32, and what the frozen weights are.
// DeepSpeed casts every parameter to its 16 bits and needs no autocast
// (deepspeed 0.19, runtime/engine.py).
func (p *Project) adapterTypes(out, in map[string]any) {
	precision, _ := out["precision"].(string)
	kind, _ := p.Value("dist.kind").(string)
	base, _ := in["base"].(string)
	delete(in, "base")
	if !p.peft() {
		delete(in, "peft")
	} else {
		in["peft"] = true
	}
	autocast, _ := p.said("autocast").(string)
	if strings.HasPrefix(precision, "amp-") {
		autocast = cmp.Or(autocast, precision)
	}
	switch {
	case strings.HasPrefix(kind, "zero") && precision != "" && precision != "fp32":
		out["precision"] = strings.TrimPrefix(precision, "amp-")
		delete(in, "peft")
	case autocast == "" || base == "" || base == "fp32":
	default:
		out["precision"], in["base"] = autocast, base
	}
}

// LoRA is how adapters are made in a project, or would be.
type LoRA struct {
	PEFT            bool
	Base, Precision string
}

// LoRA tells what turning it on would mean.
func (p *Project) LoRA() LoRA {
	precision, _ := p.said("precision").(string)
	base, _ := p.said("lora.base").(string)
	out, in := map[string]any{"precision": precision}, map[string]any{"base": base}
	p.adapterTypes(out, in)
	a := LoRA{PEFT: in["peft"] == true, Precision: out["precision"].(string)}
	a.Base, _ = in["base"].(string)
	return a
}

// peft tells whether adapters are PEFT's, with its casts.
func (p *Project) peft() bool {
	if on, ok := p.said("lora.peft").(bool); ok {
		return on
	}
	return p.main != nil && p.main.adapter == &shell && startsPEFT.Match(p.main.tree.layers[0].doc.Bytes())
}

// startsPEFT is command lines whose LoRA is PEFT's.
var startsPEFT = regexp.MustCompile(`(?:^|[\s;&|("'/])(?:trl|swift|llamafactory-cli|lmf)\s+[a-z]`)

// usualTargets tells whether PEFT chooses the layers where no file names them.
// Axolotl tells it that there are none.
func (p *Project) usualTargets() bool {
	return p.peft() && p.system() != &axolotl
}

// Doubts is what the figures of a project's run leave out, and cannot be refused
// for it. Axolotl puts kernels of its own in the place of PEFT's layers unless a
// file says anything about them (0.19, check_auto_enable_lora_kernels).
func (p *Project) Doubts() []string {
	if p.system() != &axolotl || !p.adapts() {
		return nil
	}
	keys := p.of("kernels")
	if len(keys) > 0 && !slices.ContainsFunc(keys, func(b bound) bool { return b.Value == true }) {
		return nil
	}
	return []string{p.main.file + ": Axolotl runs LoRA in kernels of its own (lora_mlp_kernel, lora_qkv_kernel, lora_o_kernel), " +
		"which keep less for backward than PEFT's layers, which are counted here"}
}

// uncounted is what makes adapters take more than is simulated.
func (p *Project) uncounted(fields map[string]any) []Missing {
	if fields["lora"] == nil {
		return nil
	}
	for _, b := range p.of("uncounted") {
		what := ""
		switch v := b.Value.(type) {
		case string:
			what = v
		case []string:
			what = strings.Join(v, ", ")
		}
		if what != "" {
			return []Missing{{Weights, fmt.Sprintf("%s: %s (%s) takes memory that is not estimated yet; measure it: snug profile -- <your command>", b.where(), b.Path, what)}}
		}
	}
	return nil
}
