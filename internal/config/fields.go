// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"snug/internal/setup"
)

// Missing is something about the run that no file says.
type Missing struct {
	Setting string
	// Say is how to say it.
	Say string
}

// Weights is what is missing where the weights are of a kind that cannot be
// estimated. A recording of the run has them.
const Weights = "weights"

// Fields is what the files say, as a setup: what setup.Decode takes.
func (p *Run) Fields() map[string]any {
	out := map[string]any{}
	for _, s := range Settings() {
		v := p.Value(s.Name)
		if v == nil {
			v = p.fallback(s.Name)
		}
		switch s.Name {
		case "model", "workers", "effective", "accumulation":
		default:
			put(out, s.Name, asJSON(v))
		}
	}
	if p.whole("batch") > 0 {
		out["accumulation"] = float64(p.accumulation())
	}
	if p.transformers != "" {
		setup.Put(out, "versions.transformers", p.transformers)
	}
	put(out, "allocator", p.Value("allocator"))
	put(out, "target_seq", asJSON(p.Value("target_seq")))
	p.model(out)
	p.loaded(out, p.adapts())
	if p.bothPrecisions() != "" {
		delete(out, "precision")
	}
	p.computed(out)
	p.liger(out)
	p.lora(out)
	p.quantization(out)
	p.dist(out)
	return out
}

// Setup is the run that the files describe.
func (p *Run) Setup(from setup.Source) (*setup.Setup, error) {
	return setup.Decode(p.Fields(), from)
}

// Missing is what has to be said before the run can be estimated.
func (p *Run) Missing() []Missing {
	fields := p.Fields()
	out := p.refused()
	if fields["model"] == nil {
		out = append(out, Missing{"model", "no file names the model: --model NAME, or model: {name: ...} in snug.yaml; for code of your own, snug profile -- <your command>"})
	}
	if fields["batch"] == nil {
		out = append(out, Missing{"batch", p.noBatch()})
	}
	if both := p.bothPrecisions(); both != "" {
		out = append(out, Missing{"precision", both})
	}
	if lora, ok := fields["lora"].(map[string]any); ok && lora["targets"] == nil && !p.usualTargets() {
		out = append(out, Missing{"lora.targets", "no file names the layers that get an adapter: --lora-targets q_proj,v_proj"})
	}
	out = append(out, p.refusedQuantization()...)
	out = append(out, p.uncounted(fields)...)
	for _, b := range p.of("dist.world") {
		if b.Value == Auto && (p.own == nil || p.own.Set["dist.world"] == nil) {
			out = append(out, Missing{"dist.world", fmt.Sprintf("%s: %s is decided when the run starts: --gpus N", b.where(), b.Path)})
		}
	}
	return append(out, p.unknownWords(fields)...)
}

// unknownWords is what files say in words that nobody here knows, and nothing else
// says instead. What is refused for its word is spoken of already.
func (p *Run) unknownWords(fields map[string]any) []Missing {
	var out []Missing
	refused := map[string]bool{}
	for _, b := range p.of("refused") {
		refused[b.place.at.String()] = true
	}
	for _, b := range p.bound {
		if b.unknown == "" {
			continue
		}
		flag, kind := strings.CutSuffix(b.Setting, ".kind")
		spoken := refused[b.place.at.String()]
		switch {
		case b.Setting == "lora" && fields["lora"] == nil && !spoken:
			out = append(out, Missing{"lora", fmt.Sprintf("%s: %q is not one that snug knows; LoRA of a like size has --lora-rank N --lora-targets all-linear, and snug profile -- <your command> measures it", b.where(), b.unknown)})
		case fields[flag] != nil || spoken || !isSetting(b.Setting):
		case b.Setting == "weights" || strings.Contains(flag, ".") || kind && p.world() < 2:
		default:
			out = append(out, Missing{b.Setting, fmt.Sprintf("%s: %q is not one that snug knows: give the nearest with --%s", b.where(), b.unknown, setup.FlagOf(b.Setting))})
		}
	}
	return out
}

func (p *Run) noBatch() string {
	for _, b := range p.of("batch") {
		if b.Value == Auto {
			return fmt.Sprintf("%s: %s is chosen when the run starts: --batch N", b.where(), b.Path)
		}
	}
	return "no file holds the batch: --batch N, or bind it in snug.yaml (batch: file#path.to.key)"
}

// model says which model it is.
func (p *Run) model(out map[string]any) {
	if p.own != nil && p.own.Model != nil {
		out["model"] = maps.Clone(p.own.Model)
		return
	}
	if p.system().OwnModel != "" {
		p.nanoModel(out)
		return
	}
	loads := p.loads()
	name := p.Value("model")
	if loads.name != "" {
		name = loads.name
	}
	switch v := name.(type) {
	case string:
		if !strings.Contains(v, "${") && v != "" {
			out["model"] = map[string]any{"name": p.modelName(v)}
			put(out, "model.head", loads.head)
		}
	case map[string]any:
		config := map[string]any{"model_type": "llama"}
		for k, x := range v {
			if x != nil {
				config[k] = x
			}
		}
		out["model"] = map[string]any{"config": config}
	}
}

// modelName is the name of a model as snug knows it: some systems name a family and a
// size.
func (p *Run) modelName(name string) string {
	if p.main == nil || p.main.adapter.Families == nil {
		return name
	}
	family, err := p.main.tree.find(strings.Split(p.main.adapter.Families.Path, "."))
	text, _ := family.value.Data.(string)
	if begins, known := meaning(p.main.adapter.Families.Names, text); err == nil && known {
		return begins + strings.ToLower(name)
	}
	return name
}

// dist drops a spread over one GPU, and fills in what several mean.
func (p *Run) dist(out map[string]any) {
	kind, _ := p.Value("dist.kind").(string)
	world := p.world()
	delete(out, "dist")
	if world < 2 {
		return
	}
	if kind == "" && slices.ContainsFunc(p.of("dist.kind"), func(b bound) bool { return b.unknown != "" }) {
		return // and Missing says so
	}
	if kind == "" {
		kind = "ddp"
		if p.shardsItself() {
			kind = "fsdp2"
		}
	}
	d := map[string]any{"kind": kind, "world": float64(world)}
	if v, ok := p.said("dist.param_dtype").(string); ok && strings.HasPrefix(kind, "fsdp2") {
		d["param_dtype"] = v
	}
	if precision, _ := out["precision"].(string); d["param_dtype"] == nil {
		put(d, "param_dtype", p.gathers(kind, precision))
		put(d, "reduce_dtype", p.gathers(kind, precision))
	}
	put(d, "load", p.arrives(kind))
	out["dist"] = d
}

// asJSON is a value as a decoded JSON file would have it.
func asJSON(v any) any {
	switch v := v.(type) {
	case int:
		return float64(v)
	case []string:
		var out []any
		for _, s := range v {
			out = append(out, s)
		}
		return out
	}
	return v
}

// put sets a field to what a file says, if it says anything.
func put(fields map[string]any, field string, v any) {
	if v != nil && v != "" {
		setup.Put(fields, field, v)
	}
}
