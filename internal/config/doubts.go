// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"snug/internal/setup"
)

// Doubts is what the figures of a run leave out, and cannot be refused for it. The
// run is what the project's files say, with what its user said over them.
func (p *Run) Doubts(run map[string]any) []string {
	out := append(p.slips(), p.unread(run)...)
	if p.unsearched != "" {
		out = append(out, p.unsearched)
	}
	out = append(out, p.unspread()...)
	out = append(out, p.noted()...)
	out = append(out, p.twice()...)
	out = append(out, p.ownLayers()...)
	out = append(out, p.castsWithoutFlash()...)
	out = append(out, p.pieces(run)...)
	out = append(out, p.headless(run)...)
	out = append(out, p.evaluated(run)...)
	out = append(out, p.nanoDoubts()...)
	out = append(out, p.unassumed()...)
	out = append(out, p.quantizationDoubts(run)...)
	out = append(out, p.workedOut(run)...)
	if line := p.madeInCode(); line > 0 && run["lora"] == nil {
		out = append(out, fmt.Sprintf("%s:%d: adapters are made in code, and are not counted: give --lora-peft --lora-rank N, and --lora-targets", p.main.file, line))
	}
	return out
}

// unspread is that files shard a run and do not say over how many GPUs.
func (p *Run) unspread() []string {
	kind, _ := p.Value("dist.kind").(string)
	said := p.world() > 1 || p.gpus > 0 || len(p.of("dist.world")) > 0
	of := p.of("dist.kind")
	if said || kind == "" || kind == "ddp" || len(of) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s: no file says over how many GPUs %s is spread: one is counted, without it; give --gpus N", of[0].where(), kind)}
}

// ownLayers is that a trainer puts kernels of its own in the place of PEFT's layers.
func (p *Run) ownLayers() []string {
	kernels := p.system().LoRAKernels
	if kernels == "" || !p.adapts() {
		return nil
	}
	keys := p.of("kernels")
	if len(keys) > 0 && !slices.ContainsFunc(keys, func(b bound) bool { return b.Value == true }) {
		return nil
	}
	return []string{fmt.Sprintf("%s: PEFT's layers are counted; %s keep less for backward", p.main.file, kernels)}
}

// castsWithoutFlash is what a trainer holds in float32 beside weights of 16 bits unless
// attention or adapters want one type everywhere.
func (p *Run) castsWithoutFlash() []string {
	if !p.system().CastsWithoutFlash || p.adapts() {
		return nil
	}
	held, _ := p.Fields()["weights"].(string)
	if held == "" || p.deepspeed() || p.said("attention") == "flash" {
		return nil
	}
	return []string{fmt.Sprintf("%s: without flash attention %s casts embeddings, head and norms to float32; they are counted in %s, with gradients and states", p.main.file, p.system().Title, held)}
}

// workedOut is settings that only the run itself works out, and what is counted for
// them where its user does not say.
func (p *Run) workedOut(run map[string]any) []string {
	var out []string
	fields := p.Fields()
	for _, b := range p.bound {
		computed := b.place.computed != "" || worked(b.place.value)
		counted := field(fields, b.Setting)
		flag := flagOf(b.Setting)
		if b.Value != nil || b.unknown != "" || !computed || flag == "" || !reflect.DeepEqual(counted, field(run, b.Setting)) {
			continue
		}
		then := "it is taken for absent"
		if counted != nil {
			then = fmt.Sprintf("%v is counted", counted)
		}
		out = append(out, fmt.Sprintf("%s: %s is %s, which only the run works out; %s, --%s gives another", b.where(), b.Path, short(b.Text), then, flag))
	}
	return out
}

// field is what a setup says of a setting, as lora.rank.
func field(fields map[string]any, setting string) any {
	outer, inner, nested := strings.Cut(setting, ".")
	if !nested {
		return fields[setting]
	}
	in, _ := fields[outer].(map[string]any)
	return in[inner]
}

// flagOf is the flag that says a setting, "" where it is no matter for a note: a batch
// and a model have to be said in any case, and workers take no memory of the card.
func flagOf(setting string) string {
	switch setting {
	case "model", "batch", "workers", "effective":
		return ""
	}
	if !isSetting(setting) {
		return ""
	}
	return setup.FlagOf(setting)
}

// short is a value that is no longer than a line has room for.
func short(text string) string {
	line, _, cut := strings.Cut(text, "\n")
	if runes := []rune(line); len(runes) > 32 {
		line, cut = string(runes[:32]), true
	}
	if cut {
		return line + "…"
	}
	return line
}
