// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"
	"slices"
	"strings"

	"snug/internal/config/projects"
	"snug/internal/pattern"
	"snug/internal/setup"
)

// This file covers what trainers have in common for LoRA: nearly all use PEFT, which casts 16-bit adapters to
// float32 by default.

// settleLoRA drops adapters that are not used, and fills in how the others are created.
func (r *Run) settleLoRA(out map[string]any) {
	in, _ := out["lora"].(map[string]any)
	if in == nil || !r.adapts() || in["rank"] == nil || fmt.Sprint(in["rank"]) == "0" {
		delete(out, "lora")
		return
	}
	r.targets(in)
	delete(in, "peft")
	if r.upcasts(out) {
		in["peft"] = true
	}
}

// adapts reports whether LoRA is on.
func (r *Run) adapts() bool {
	ranked := len(r.BindingsOf("lora.rank")) > 0
	if on, ok := r.Value("lora").(bool); ok {
		return on
	}
	if on, ok := r.DefaultValue("lora").(bool); ok && !(ranked && r.Primary != nil && r.Primary.RunsOwnProgram()) {
		return on // a custom program's switch and its default are unknown
	}
	other := slices.ContainsFunc(r.BindingsOf("lora"), func(b projects.Bound) bool { return b.Unknown != "" })
	return ranked && !other // an unknown tuner may have a rank too
}

// targets replaces the names of the layers with those that setups use.
func (r *Run) targets(in map[string]any) {
	targets, _ := in["targets"].([]any)
	if r.Primary != nil && r.Primary.System.KnownProgram && len(targets) == 0 {
		for _, k := range r.Trainer().ForSetting("lora.targets") {
			targets = append(targets, k.Default)
		}
	}
	all := slices.ContainsFunc(targets, func(t any) bool { return t == "all" || t == setup.AllLinear })
	if all || r.Value("lora.linear") == true {
		in["targets"] = []any{setup.AllLinear}
		return
	}
	for _, layer := range []string{"q_proj query", "k_proj key", "v_proj value", "o_proj projection"} {
		name, key, _ := strings.Cut(layer, " ")
		if r.ValueOrDefault("lora."+key) == true {
			targets = append(targets, name)
		}
	}
	for i, t := range targets {
		if t == "output_proj" { // torchtune's name
			targets[i] = "o_proj"
		}
	}
	if r.Value("lora.mlp") == true {
		targets = append(targets, "gate_proj", "up_proj", "down_proj")
	}
	if r.Value("lora.output") == true {
		targets = append(targets, "lm_head")
	}
	if len(targets) > 0 {
		in["targets"] = targets
	}
}

// partsOfLayer lists the switch that adapts only queries or values, if the model computes them in one layer: LitGPT
// adapts that part of the layer with code of its own.
func (r *Run) partsOfLayer(fields map[string]any) []Missing {
	name, _ := r.modelInFile().(string)
	query := r.Trainer().ForSetting("lora.query")
	if len(query) == 0 || fields["lora"] == nil || !setup.FusesAttention(r.ModelName(name)) {
		return nil
	}
	return []Missing{*refusedFor(r.Primary.File, query[0].Path, "adapts a part of the layer that computes queries, keys and values")}
}

// upcasts reports whether PEFT casts the adapters to float32. DeepSpeed casts every parameter to its 16-bit type
// (deepspeed 0.19, runtime/engine.py).
func (r *Run) upcasts(out map[string]any) bool {
	precision, _ := out["precision"].(string)
	return r.peft() && (!r.deepspeed() || precision == "" || precision == "fp32")
}

// LoRA describes how adapters are created in a project, or would be.
type LoRA struct {
	PEFT               bool   // PEFT creates them, with its casts
	Weights, Precision string // the run's types with adapters
}

// LoRA returns how adapters are created, or would be if LoRA were turned on.
func (r *Run) LoRA() LoRA {
	precision, _ := r.ValueOrDefault("precision").(string)
	out := map[string]any{"precision": precision, "weights": r.ValueOrDefault("weights")}
	r.settleWeights(out, true)
	a := LoRA{PEFT: r.upcasts(out)}
	a.Precision, _ = out["precision"].(string)
	a.Weights, _ = out["weights"].(string)
	return a
}

// peft reports whether PEFT creates the adapters, with its casts.
func (r *Run) peft() bool {
	if on, ok := r.ValueOrDefault("lora.peft").(bool); ok {
		return on
	}
	return r.Primary != nil && r.Primary.System.Commands != nil && r.Primary.System.Commands.PEFT.In(r.Primary.Tree.Layers[0].Doc.Text())
}

// usualTargets reports whether PEFT chooses the layers if no file names them.
func (r *Run) usualTargets() bool {
	return r.peft() && !r.Trainer().NamesTargets && r.programNamesTargets() == ""
}

// programNamesTargets returns where the run's program chooses the layers; "" if it does not.
func (r *Run) programNamesTargets() string {
	if r.Primary == nil {
		return ""
	}
	made := false
	for _, p := range r.ExecutedPrograms(r.Primary) {
		if !strings.Contains(p.Text, "LoraConfig(") {
			continue
		}
		made = true
		for _, c := range p.Calls("LoraConfig") {
			if v, known := c.Args["target_modules"]; c.Passed["target_modules"] && (!known || v != nil) {
				return fmt.Sprintf("the program chooses the layers to adapt (%s:%d: LoraConfig)", p.File, c.Line)
			}
		}
	}
	if made || !r.Primary.RunsOwnProgram() {
		return ""
	}
	for _, m := range r.modules() {
		if at := namedTargets.Index(m.Text); at != nil {
			return fmt.Sprintf("the program chooses the layers to adapt (%s: LoraConfig)", m.LineOf(at[2]))
		}
	}
	return ""
}

// namedTargets matches a LoraConfig that names the layers to adapt.
var namedTargets = pattern.New(`(?m)^[^#\n]*\b(LoraConfig)\((?:[^()]|\([^()]*\))*?\btarget_modules\s*=\s*[^N\s]`, "LoraConfig(")

// modules returns the project's modules that the run's programs import.
func (r *Run) modules() (out []projects.ProgramText) {
	for _, p := range r.ExecutedPrograms(r.Primary) {
		out = append(out, r.Modules(p.ProgramText)...)
	}
	return out
}

// ownAdapters lists the key that turns on adapters of a program that makes them without PEFT: which layers it adapts, and what
// it trains besides them, is only in its code.
func (r *Run) ownAdapters(fields map[string]any) []Missing {
	if fields["lora"] == nil || !r.peft() || !r.Primary.RunsOwnProgram() {
		return nil
	}
	programs := r.modules()
	for _, p := range r.ExecutedPrograms(r.Primary) {
		programs = append(programs, p.ProgramText)
	}
	if len(programs) == 0 || slices.ContainsFunc(programs, func(p projects.ProgramText) bool { return usesPEFT.In(p.Text) }) {
		return nil
	}
	for _, b := range slices.Concat(r.BindingsOf("lora"), r.BindingsOf("lora.rank")) {
		if b.Value != nil && b.Value != false {
			return []Missing{*refusedFor(b.Where(), b.Path.String(), "turns on adapters that the program makes without PEFT")}
		}
	}
	return nil
}

// usesPEFT matches a mention of PEFT in a program, or of TRL, whose trainers make its adapters.
var usesPEFT = pattern.New(`(?i)peft|LoraConfig|\btrl\b`)

// unknownRank lists the rank as missing if a file turns adapters on and no file sets it.
func (r *Run) unknownRank(fields map[string]any) []Missing {
	for _, b := range r.BindingsOf("lora") {
		if b.Value == true && r.Value("lora") == true && fields["lora"] == nil {
			return []Missing{{"lora.rank", fmt.Sprintf("%s: %s turns adapters on, but %s and --lora-targets", b.Where(), b.Path, r.rankInProgram())}}
		}
	}
	return nil
}

// rankInProgram returns where a program sets the rank that its script omits, and how to give it.
func (r *Run) rankInProgram() string {
	for _, p := range r.Primary.ProgramTexts(r.Files()) {
		at := loraConfig.Index(p.Text)
		if at == nil {
			continue
		}
		where := fmt.Sprintf("%s:%d", p.File, 1+strings.Count(p.Text[:at[2]], "\n"))
		if rank := plainRank.Find(p.Text[at[3]:]); rank != nil {
			return fmt.Sprintf("their rank is set in the program (%s: %s, rank %s); give --lora-rank %s", where, p.Text[at[2]:at[3]], rank[1], rank[1])
		}
		return fmt.Sprintf("the program computes their rank (%s: %s); give --lora-rank N", where, p.Text[at[2]:at[3]])
	}
	return "no file sets their rank; give --lora-rank N"
}

// loraConfig matches the call that creates an adapter config, and plainRank the rank among its arguments.
var (
	loraConfig = pattern.New(`(?m)^[^#\n]*\b([A-Z]\w*raConfig)\(`, "raConfig(")
	plainRank  = pattern.New(`^\((?:[^()]|\([^()]*\))*?\br\s*=\s*(\d+)\s*[,)]`) // no words are given, because the rank may be on a later line
)

// uncounted lists settings by which adapters take more memory than is simulated.
func (r *Run) uncounted(fields map[string]any) []Missing {
	if fields["lora"] == nil {
		return nil
	}
	for _, b := range r.BindingsOf("lora.targets") {
		if names, _ := b.Value.([]string); len(names) > 1 && slices.Contains(names, setup.AllLinear) {
			return []Missing{{Weights, fmt.Sprintf("%s: %s combines %s with %s; this combination is not estimated yet; measure it: snug profile -- <your command>", b.Where(), b.Path,
				strings.Join(slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == setup.AllLinear }), ", "), setup.AllLinear)}}
		}
	}
	for _, b := range r.BindingsOf("uncounted") {
		what := ""
		switch v := b.Value.(type) {
		case string:
			what = v
		case []string:
			what = strings.Join(v, ", ")
		}
		if what != "" {
			return []Missing{{Weights, fmt.Sprintf("%s: %s (%s) takes memory that is not estimated yet; measure it: snug profile -- <your command>", b.Where(), b.Path, what)}}
		}
	}
	return nil
}
