// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/projects"
	"snug/internal/config/systems"
	"snug/internal/pattern"
	"snug/internal/setup"
)

// Missing is a part of the setup that no file contains.
type Missing struct {
	Setting string // the setting, or Weights or Training
	// Say is the message to the user: what is missing and how to give it.
	Say string
}

// Weights is Missing.Setting for weights of a kind that cannot be estimated. A recording of the run includes
// them.
const Weights = "weights"

// Fields returns the setup that the files describe, in the form that setup.Decode takes.
func (r *Run) Fields() map[string]any {
	out := map[string]any{}
	for _, name := range systems.SettingNames() {
		v := r.Value(name)
		if v == nil {
			v = r.DefaultValue(name)
		}
		switch name {
		case "model", "workers", "effective", "accumulation", "lora.alpha": // alpha uses no memory, and every file with adapters has one
		default:
			put(out, name, asJSON(v))
		}
	}
	if _, own := r.Value("accumulation").(int); own || r.Whole("batch") > 0 { // a script's batch may be found when it is followed
		out["accumulation"] = float64(r.Accumulation())
	}
	if r.transformers != "" {
		setup.Put(out, "versions.transformers", r.transformers)
	}
	put(out, "allocator", r.Value("allocator"))
	put(out, "target_seq", asJSON(r.Value("target_seq")))
	if n := r.targetLength(); n > 0 && out["target_seq"] == nil {
		out["target_seq"] = float64(n)
	}
	r.joinTarget(out)
	if n, _ := r.lengthOfBlock(); n > 0 && out["seq"] == nil {
		out["seq"] = float64(n)
	}
	r.settleModel(out)
	r.settleWeights(out, r.adapts())
	if r.bothPrecisions() != "" {
		delete(out, "precision")
	}
	r.lossByVersion(out)
	r.settleLiger(out)
	r.settleLoRA(out)
	r.settleQuantization(out)
	r.settleSpread(out)
	r.settleReentrant(out)
	r.autocastUnsharded(out)
	r.settleLoop(out)
	r.settleEvaluation(out)
	r.settleImages(out)
	r.settleSentences(out)
	return out
}

// joinTarget adds the tokens of a target to those of its source if a sample is one sequence of both: the trainer joins
// them, or the model has no decoder of its own for the target.
func (r *Run) joinTarget(out map[string]any) {
	source, target := r.Whole("seq"), r.Whole("target_seq")
	switch {
	case r.joinsTarget():
		out["seq"] = float64(source + target)
		delete(out, "target_seq")
	case target > 0 && r.withoutDecoder():
		delete(out, "target_seq")
	}
}

// joinsTarget reports whether a sample's source and target are one sequence.
func (r *Run) joinsTarget() bool {
	return r.Whole("seq") > 0 && (r.Trainer().JoinsTarget || r.Whole("target_seq") > 0 && r.withoutDecoder() && r.namesSource())
}

// unusedTarget returns the warning that the model has no decoder for a target of the given length.
func (r *Run) unusedTarget() []string {
	if r.Whole("target_seq") == 0 || r.joinsTarget() || !r.withoutDecoder() {
		return nil
	}
	b := r.BindingsOf("target_seq")[0]
	return []string{fmt.Sprintf("%s: %s is not counted: the model has no decoder of its own, and samples are as long as --seq says", b.Where(), b.Path)}
}

// withoutDecoder reports whether the model is known and not an encoder-decoder.
func (r *Run) withoutDecoder() bool {
	name, _ := r.modelInFile().(string)
	name = r.ModelName(name)
	return setup.KnowsModel(name) && !setup.Trains(name, "seq2seq-lm")
}

// namesSource reports whether the length is that of a source, as in max_source_length.
func (r *Run) namesSource() bool {
	b := r.BindingsOf("seq")
	return len(b) > 0 && strings.Contains(b[0].Path.String(), "source")
}

// Missing lists what the user must provide before the run can be estimated.
func (r *Run) Missing() []Missing {
	fields := r.Fields()
	out := append(r.refused(), r.otherTask()...)
	if fields["model"] == nil {
		out = append(out, Missing{"model", r.noModel()})
	}
	if fields["batch"] == nil {
		out = append(out, Missing{"batch", r.noBatch()})
	}
	out = append(out, r.openLength(fields)...)
	out = append(out, r.openImages(fields)...)
	if both := r.bothPrecisions(); both != "" {
		out = append(out, Missing{"precision", both})
	}
	if lora, ok := fields["lora"].(map[string]any); ok && lora["targets"] == nil && !r.usualTargets() {
		out = append(out, Missing{"lora.targets", cmp.Or(r.programNamesTargets(), "no file names the layers to adapt") + "; give --lora-targets all-linear, or names like q_proj,v_proj"})
	}
	out = append(out, r.ownAdapters(fields)...)
	out = append(out, r.unknownRank(fields)...)
	out = append(out, r.partsOfLayer(fields)...)
	out = append(out, r.refusedQuantization()...)
	out = append(out, r.uncounted(fields)...)
	for _, b := range r.BindingsOf("dist.world") {
		if b.Value == projects.Auto && (r.Own == nil || r.Own.Set["dist.world"] == nil) {
			out = append(out, Missing{"dist.world", fmt.Sprintf("%s: %s is only known when the run starts; give --gpus N", b.Where(), worldAsWritten(b))})
		}
	}
	return append(out, r.unknownWords(fields)...)
}

// worldAsWritten returns a key for the number of GPUs, with its value if that is a word other than auto.
func worldAsWritten(b projects.Bound) string {
	text, _ := b.Place.Value.Data.(string)
	if _, err := strconv.ParseFloat(text, 64); err == nil || text == "" || strings.EqualFold(text, projects.Auto) {
		return b.Path.String()
	}
	return b.Path.String() + " " + shortened(text)
}

// unknownWords lists values in files that are not understood, unless the setting is given elsewhere. Refused
// values have been reported already.
func (r *Run) unknownWords(fields map[string]any) []Missing {
	var out []Missing
	refused := map[string]bool{}
	for _, b := range r.BindingsOf("refused") {
		refused[b.Place.At.String()] = true
	}
	for _, b := range r.Bound {
		if b.Unknown == "" {
			continue
		}
		flag, kind := strings.CutSuffix(b.Setting, ".kind")
		told := refused[b.Place.At.String()]
		switch {
		case b.Setting == "lora" && fields["lora"] == nil && !told:
			out = append(out, Missing{"lora", fmt.Sprintf("%s: %q is not known to snug; for LoRA of similar size give --lora-rank N --lora-targets all-linear, or measure it: snug profile -- <your command>", b.Where(), b.Unknown)})
		case fields[flag] != nil || told || !systems.IsSetting(b.Setting) || b.Setting == "model": // noModel reports a missing model
		case b.Setting == "weights" || strings.Contains(flag, ".") || kind && r.World() < 2:
		default:
			out = append(out, Missing{b.Setting, fmt.Sprintf("%s: %q is not known to snug; give a similar value with --%s", b.Where(), b.Unknown, setup.FlagOf(b.Setting))})
		}
	}
	return out
}

// notKnown returns why the value of a setting in a script is unknown; "" if the script does not set it.
func (r *Run) notKnown(setting string) string {
	for _, b := range r.BindingsOf(setting) {
		if why := b.Place.Value.Why; why != "" && b.Value == nil {
			return fmt.Sprintf("%s: %s is not known: %s", b.Where(), b.Path, why)
		}
	}
	return ""
}

func (r *Run) noBatch() string {
	if why := r.notKnown("batch"); why != "" {
		return why + "; give --batch N"
	}
	for _, b := range r.BindingsOf("batch") {
		if b.Value == projects.Auto {
			return fmt.Sprintf("%s: %s is only known when the run starts; give --batch N", b.Where(), b.Path)
		}
	}
	if which := r.Ambiguous("batch"); which != "" {
		return which + ", or give --batch N"
	}
	return "no file contains the batch; give --batch N, or bind it in snug.yaml (batch: file#path.to.key)"
}

// targetCall matches the length of a script's targets: tokenizer(text_target=…, max_length=128).
var targetCall = pattern.New(`\(\s*text_target\s*=(?:[^()]|\([^()]*\))*?\bmax_length\s*=\s*([0-9]+)`, "text_target")

// targetLength returns the number of tokens to which the main script truncates its targets; 0 if it does not specify
// one.
func (r *Run) targetLength() int {
	class := r.scriptModel().Class
	if !strings.HasSuffix(class, "ForSeq2SeqLM") && !strings.HasSuffix(class, "ForConditionalGeneration") || r.Primary.Tree.Layers[0].Doc.Format() != doc.Python {
		return 0
	}
	found := targetCall.Find(r.Primary.Tree.Layers[0].Doc.Text())
	if found == nil {
		return 0
	}
	n, _ := strconv.Atoi(found[1])
	return n
}

// settleModel fills in the model.
func (r *Run) settleModel(out map[string]any) {
	if r.Own != nil && r.Own.Model != nil {
		out["model"] = maps.Clone(r.Own.Model)
		return
	}
	if own := r.Trainer().OwnModel; own != nil && (!r.Trainer().BuildsModel || r.BuildsModel()) {
		if r.BuildsModel() || !r.hasOtherSizes(own) {
			r.settleOwnModel(own, out)
		}
		return
	}
	if r.Trainer().DescribesAtTop {
		if config, _ := r.describedConfig(r.topLevel()); config != nil {
			out["model"] = map[string]any{"config": config}
		}
		return
	}
	loaded := r.scriptModel()
	name := r.modelInFile()
	if loaded.Name != "" {
		name = loaded.Name
	}
	switch v := name.(type) {
	case string:
		if v != "" && (v != loaded.Name || !strings.Contains(v, "${")) {
			out["model"] = map[string]any{"name": r.ModelName(v)}
			if config := setup.Unfused(r.ModelName(v)); config != nil && r.Trainer().FusesNothing {
				out["model"] = map[string]any{"config": config}
			}
			put(out, "model.head", r.countedHead(v, loaded.Head))
		}
	case map[string]any:
		if config, _ := r.describedConfig(v); config != nil {
			out["model"] = map[string]any{"config": config}
		}
	}
}

// ModelName returns snug's name for a model. Some systems specify it as a family and a size.
func (r *Run) ModelName(name string) string {
	if folder := r.Trainer().Checkpoints; folder != "" {
		return strings.TrimPrefix(name, folder)
	}
	if r.Primary == nil || r.Primary.System.Families == nil {
		return name
	}
	f := r.Primary.System.Families
	family, err := r.Primary.Tree.Find(strings.Split(f.Path, "."))
	text, _ := family.Value.Data.(string)
	begins, known := systems.Meaning(f.Names, text)
	switch {
	case err != nil || text == "":
		return name
	case !known:
		return text + " " + name
	}
	name = begins + strings.ToLower(name)
	if other, is := systems.Meaning(f.Sizes, name); is {
		return other
	}
	return name
}

// settleSpread drops data parallelism over one GPU, and fills in what several GPUs imply.
func (r *Run) settleSpread(out map[string]any) {
	kind, _ := r.Value("dist.kind").(string)
	world := r.World()
	delete(out, "dist")
	if world < 2 {
		return
	}
	if kind == "" && slices.ContainsFunc(r.BindingsOf("dist.kind"), func(b projects.Bound) bool { return b.Unknown != "" }) {
		return // Missing reports this
	}
	if kind == "" {
		kind = "ddp"
		if r.shardsByItself() {
			kind = r.ownSharding(out)
		}
	}
	kind = r.fsdpKind(kind)
	d := map[string]any{"kind": kind, "world": float64(world)}
	if v, ok := r.ValueOrDefault("dist.param_dtype").(string); ok && strings.HasPrefix(kind, "fsdp") {
		d["param_dtype"] = v
	}
	if precision, _ := out["precision"].(string); d["param_dtype"] == nil {
		put(d, "param_dtype", r.gatherType(kind, precision))
		put(d, "reduce_dtype", r.gatherType(kind, precision))
		r.mixFSDP(d)
	}
	put(d, "load", r.loadKind(kind))
	out["dist"] = d
}

// asJSON returns a value as it would be decoded from JSON.
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

// put sets a field to its value in the files, if any.
func put(fields map[string]any, field string, v any) {
	if v != nil && v != "" {
		setup.Put(fields, field, v)
	}
}
