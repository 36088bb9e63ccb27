// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"snug/internal/config/projects"
	"snug/internal/config/systems"
	"snug/internal/setup"
)

// Missing is something about the run that no file says.
type Missing struct {
	Setting string // or Weights, or Training
	// Say is how to say it.
	Say string
}

// Weights is what is missing where the weights are of a kind that cannot be
// estimated. A recording of the run has them.
const Weights = "weights"

// Fields is what the files say, as a setup: what setup.Decode takes.
func (p *Run) Fields() map[string]any {
	out := map[string]any{}
	for _, s := range systems.Settings() {
		v := p.Value(s.Name)
		if v == nil {
			v = p.DefaultValue(s.Name)
		}
		switch s.Name {
		case "model", "workers", "effective", "accumulation":
		default:
			put(out, s.Name, asJSON(v))
		}
	}
	if p.Whole("batch") > 0 {
		out["accumulation"] = float64(p.Accumulation())
	}
	if p.transformers != "" {
		setup.Put(out, "versions.transformers", p.transformers)
	}
	put(out, "allocator", p.Value("allocator"))
	put(out, "target_seq", asJSON(p.Value("target_seq")))
	p.settleModel(out)
	p.settleWeights(out, p.adapts())
	if p.bothPrecisions() != "" {
		delete(out, "precision")
	}
	p.lossByVersion(out)
	p.settleLiger(out)
	p.settleLoRA(out)
	p.settleQuantization(out)
	p.settleSpread(out)
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
	for _, b := range p.BindingsOf("dist.world") {
		if b.Value == projects.Auto && (p.Own == nil || p.Own.Set["dist.world"] == nil) {
			out = append(out, Missing{"dist.world", fmt.Sprintf("%s: %s is decided when the run starts: --gpus N", b.Where(), b.Path)})
		}
	}
	return append(out, p.unknownWords(fields)...)
}

// unknownWords is what files say in words that nobody here knows, and nothing else
// says instead. What is refused for its word has been told already.
func (p *Run) unknownWords(fields map[string]any) []Missing {
	var out []Missing
	refused := map[string]bool{}
	for _, b := range p.BindingsOf("refused") {
		refused[b.Place.At.String()] = true
	}
	for _, b := range p.Bound {
		if b.Unknown == "" {
			continue
		}
		flag, kind := strings.CutSuffix(b.Setting, ".kind")
		told := refused[b.Place.At.String()]
		switch {
		case b.Setting == "lora" && fields["lora"] == nil && !told:
			out = append(out, Missing{"lora", fmt.Sprintf("%s: %q is not one that snug knows; LoRA of a like size has --lora-rank N --lora-targets all-linear, and snug profile -- <your command> measures it", b.Where(), b.Unknown)})
		case fields[flag] != nil || told || !systems.IsSetting(b.Setting):
		case b.Setting == "weights" || strings.Contains(flag, ".") || kind && p.World() < 2:
		default:
			out = append(out, Missing{b.Setting, fmt.Sprintf("%s: %q is not one that snug knows: give the nearest with --%s", b.Where(), b.Unknown, setup.FlagOf(b.Setting))})
		}
	}
	return out
}

func (p *Run) noBatch() string {
	for _, b := range p.BindingsOf("batch") {
		if b.Value == projects.Auto {
			return fmt.Sprintf("%s: %s is chosen when the run starts: --batch N", b.Where(), b.Path)
		}
	}
	return "no file holds the batch: --batch N, or bind it in snug.yaml (batch: file#path.to.key)"
}

// settleModel says which model it is.
func (p *Run) settleModel(out map[string]any) {
	if p.Own != nil && p.Own.Model != nil {
		out["model"] = maps.Clone(p.Own.Model)
		return
	}
	if own := p.Trainer().OwnModel; own != nil {
		p.settleOwnModel(own, out)
		return
	}
	loaded := p.scriptModel()
	name := p.Value("model")
	if loaded.Name != "" {
		name = loaded.Name
	}
	switch v := name.(type) {
	case string:
		if !strings.Contains(v, "${") && v != "" {
			out["model"] = map[string]any{"name": p.ModelName(v)}
			put(out, "model.head", loaded.Head)
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

// ModelName is the name of a model as snug knows it: some systems name a family and a
// size.
func (p *Run) ModelName(name string) string {
	if p.Primary == nil || p.Primary.System.Families == nil {
		return name
	}
	family, err := p.Primary.Tree.Find(strings.Split(p.Primary.System.Families.Path, "."))
	text, _ := family.Value.Data.(string)
	if begins, known := systems.Meaning(p.Primary.System.Families.Names, text); err == nil && known {
		return begins + strings.ToLower(name)
	}
	return name
}

// settleSpread drops a spread over one GPU, and fills in what several mean.
func (p *Run) settleSpread(out map[string]any) {
	kind, _ := p.Value("dist.kind").(string)
	world := p.World()
	delete(out, "dist")
	if world < 2 {
		return
	}
	if kind == "" && slices.ContainsFunc(p.BindingsOf("dist.kind"), func(b projects.Bound) bool { return b.Unknown != "" }) {
		return // and Missing says so
	}
	if kind == "" {
		kind = "ddp"
		if p.shardsByItself() {
			kind = "fsdp2"
		}
	}
	d := map[string]any{"kind": kind, "world": float64(world)}
	if v, ok := p.ValueOrDefault("dist.param_dtype").(string); ok && strings.HasPrefix(kind, "fsdp2") {
		d["param_dtype"] = v
	}
	if precision, _ := out["precision"].(string); d["param_dtype"] == nil {
		put(d, "param_dtype", p.gatherType(kind, precision))
		put(d, "reduce_dtype", p.gatherType(kind, precision))
	}
	put(d, "load", p.loadKind(kind))
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
