// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"snug/internal/family"
	"snug/internal/pysrc"
	"snug/internal/script"
	"snug/internal/setup"
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// Follows reports whether a setup's loop is followed from a script. On several GPUs only some loops are.
func Follows(s *setup.Setup) bool {
	return s.Script.Readable() && (s.Dist == nil || s.FollowsOverGPUs()) && s.Model.Program == nil
}

// follow runs the setup's script in place of snug's own loop.
func (r *run) follow() error {
	s := r.s
	if s.Script.Name != "" && s.Model.Head == family.Encoder && s.Script.Name != setup.SentenceLoop {
		return setup.Wrong("{loop} %s takes the loss from its model, but an encoder returns no loss; use {loop=sentence-transformers}", s.Loop)
	}
	if err := unchangeable(s); err != nil {
		return err
	}
	file, err := scriptOf(s.Script)
	if err != nil {
		return err
	}
	how := script.Run{
		World: r.w, File: file, Args: s.CommandLine(), Import: s.Script.Import, Read: s.Script.Read, YAML: setup.DecodeYAML,
		Batch: s.Batch, Seq: s.Seq, ScriptBatch: s.Script.Own.Batch.N, ScriptSeq: s.Script.Own.Seq.N, Lengths: slices.Concat(r.tokens...), Accumulation: s.Accumulation,
		Autocast: autocastType(s.Precision), Settings: settings(s), Skips: len(r.o.Skips), NoneSelected: r.o.NoneSelected, Spread: r.o.Spread,
		Build: r.maker(), Mark: r.markPhase, Stop: r.o.Stop, Whole: r.o.Whole, Adapt: r.adapt,
		Named: r.named(), Causal: r.causal(), Shifts: r.shifts(), Stored: r.stored(), LoadsFloat32: s.Versions.TransformersRelease() < 500, Evaluation: evaluation(s), Completion: s.Completion,
	}
	if err := r.fields(&how); err != nil {
		return err
	}
	how.Planned = planned(s)
	how.Variables = resized(s)
	if s.Optimizer != "adamw" || s.Script.Name != "" && s.Says("optimizer") {
		how.Optimizer = s.Optimizer
	}
	res, err := script.Follow(how)
	if err != nil {
		return unsimulated(err)
	}
	r.own = res.Trained
	if err := r.untrained(res); err != nil {
		return err
	}
	optimizer := res.Optimizer
	if s.Changed("optimizer") { // set by a candidate, not by the script
		optimizer = s.Script.Optimizer()
	}
	lacksAdapters := res.MakesAdapters != "" && !res.Adapts && s.LoRA == nil
	unfollowed := len(res.Notes) > 0 || r.ungraded(res) > 0 || r.untuned || lacksAdapters
	recomputes := r.recomputes
	if s.Changed("checkpointing") || s.Script.Name != "" { // set by a candidate or by the setup, not by the script
		recomputes = s.Script.Recomputes()
	} else if r.builder == nil && res.Switched {
		recomputes = res.Checkpointing
	}
	r.backwards = r.o.inAll(perUpdate(res))
	s.Script.Learn(setup.Learned{Unfollowed: unfollowed, Precision: r.precision(res), Backwards: r.backwards, Compiles: res.Compiles, Optimizer: optimizer, OwnModel: r.builder == nil, Head: r.s.Model.Head, Classes: r.s.Model.Classes, Weights: r.halfWeights(), Checkpointing: recomputes, Switched: res.Switched, Reference: res.Reference, Twice: res.Twice, Masks: res.Masks})
	r.addNotes(res, lacksAdapters)
	s.Script.Note(r.notes(res))
	if r.timedMicro {
		if perUpdate(res) == 1 && s.Accumulation > 1 { // the script does not accumulate, but each micro-batch takes its time
			r.o.Watch.MicroMore()
		}
		r.o.Watch.Update(optimizer, res.Trained, res.Clips)
	}
	return nil
}

// untrained returns the error for a script in which no training step of the model was found; nil if there is one.
func (r *run) untrained(res *script.Result) error {
	loop := r.s.Loop
	neverUpdates := res.Updates == 0 && res.Backwards > 0
	if res.Graded == 0 && !neverUpdates && r.s.Lengths != nil && (r.s.Script.StandsFor || len(res.UnknownModels) > 0) {
		return setup.Wrong("{lengths}: the model of %s is simulated only at the lengths in its code", r.s.Script.Path())
	}
	if res.Graded == 0 && !neverUpdates && (r.builder == nil || !res.Called) {
		return noGradient{setup.Wrong("{loop} %s: it calls no model that snug knows%s%s; record the run: snug profile -- python3 %s, or name a loop instead, such as {loop=script}", loop, setup.UnknownModelsText(res.UnknownModels), firstNote(res.Notes), loop)}
	}
	if why := r.unfollowedModel(res); why != nil {
		return why
	}
	if r.builder != nil && res.Updates > 0 && res.Backwards == 0 && len(res.Trained) > 0 {
		return setup.Wrong("{loop} %s: no backward pass was found before its first update%s, because a part of it cannot be followed; record the run: snug profile -- python3 %s", loop, firstNote(res.Notes), loop)
	}
	if res.Updates == 0 {
		return noUpdate{setup.Wrong("{loop} %s: no optimizer update was found in it%s; use a built-in loop instead, such as {loop=script}, or record the run: snug profile -- python3 %s", loop, firstNote(res.Notes), loop)}
	}
	return nil
}

// addNotes extends the notes on what was not followed with notes on what the script does.
func (r *run) addNotes(res *script.Result, lacksAdapters bool) {
	s := r.s
	res.Notes = append(r.ownNotes(res), res.Notes...)
	res.Notes = append(res.Notes, r.weightNotes(res)...)
	if r.untuned {
		res.Notes = append(res.Notes, s.Loop+": torchtune's own modules for this model are counted as transformers', which keep up to a tenth less")
	}
	if lacksAdapters {
		res.Notes = append(res.Notes, setup.UncountedAdapters(res.MakesAdapters))
	}
	if r.ineffective && !r.recomputes {
		res.Notes = append(res.Notes, setup.ScriptOf(s.Loop)+": gradient checkpointing is on but has no effect, because the model is in eval mode, as from_pretrained leaves it; call model.train()")
	}
	if n := growth(r.w.Trace); n > 0 {
		res.Notes = append(res.Notes, growthNote(s, n))
	}
}

// notes returns the notes on the script. A plan's candidate, or a run at another batch size, keeps the notes of the
// run it was derived from, because new ones would be about settings that the user did not choose. The exception is a
// note that the figures are for another precision.
func (r *run) notes(res *script.Result) []string {
	s, of := cmp.Or(r.o.whole, r.s), differences(r.s, res)
	if r.keepsFloat32() {
		of = append(of, fmt.Sprintf("%s: precision is %s, but the script's weights are float32; the figures follow the script", r.s.Script.Path(), r.s.Precision))
	}
	if s != r.s && !s.ChangedAny() {
		of = append(of, fmt.Sprintf("%s: an update after %d micro-batches is too long to follow; %d are simulated, and the others make the same allocations", s.Script.Path(), s.Accumulation, r.s.Accumulation))
	}
	if !s.ChangedAny() && (!s.Resized() || len(s.Script.Notes()) == 0) {
		return append(namedNotes(r.s, res.Notes), of...)
	}
	notes := r.s.Script.Notes()
	for _, note := range of {
		if !slices.Contains(notes, note) {
			notes = append(notes[:len(notes):len(notes)], note)
		}
	}
	return notes
}

// keepsFloat32 reports whether 16-bit weights are asked for that the script does not make.
func (r *run) keepsFloat32() bool {
	if r.builder == nil || r.s.Changed("precision") || !r.s.Overrides("precision") || r.s.Precision != setup.BF16 && r.s.Precision != setup.FP16 {
		return false
	}
	trained := r.builder.Trainable()
	return len(trained) > 0 && !slices.ContainsFunc(trained, func(t *shadow.Tensor) bool { return t.DType() != shadow.Float32 })
}

// firstNote returns the first note, in parentheses: something that was not followed may be why no update was
// found. A note about the optimizer cannot be the reason, so it is skipped.
func firstNote(notes []string) string {
	i := slices.IndexFunc(notes, func(n string) bool { return !strings.Contains(n, ": the optimizer ") })
	if i < 0 {
		return ""
	}
	return " (" + notes[i] + ")"
}

// namedNotes returns the notes of a loop known by name, without line numbers of snug's own file.
func namedNotes(s *setup.Setup, notes []string) (out []string) {
	for _, n := range notes {
		if s.Script.Name != "" {
			if _, text, ok := strings.Cut(n, ": "); ok && strings.HasPrefix(n, "examples/") {
				n = s.Script.Name + ": " + text
			}
		}
		out = append(out, n)
	}
	return out
}

// scriptOf returns the file of a loop: the user's, or snug's own for a loop known by name.
func scriptOf(s *setup.Script) (*pysrc.File, error) {
	if s.File != nil {
		return s.File, nil
	}
	return script.Named(s.Name)
}

// settings returns the settings of the run that a loop known by name can read.
func settings(s *setup.Setup) map[string]any {
	return map[string]any{
		"model": strings.TrimPrefix(cmp.Or(s.Model.Name, s.Model.Family()), "torchvision/"), "batch": s.Batch, "accumulation": max(s.Accumulation, 1), "clip": s.Clip, "checkpointing": s.Checkpointing,
		"positives": s.Positives, "negatives": s.Negatives, "precision": s.Precision, "optimizer": s.Optimizer, "set_to_none": !s.KeepsGradients(),
		"seq": s.Seq, "completion": s.Completion, "reference": s.Reference, "compares_with": s.ComparesWith(), "trl": s.Versions.TRLRelease(), "lora": s.LoRA != nil,
		"dist": distOf(s),
	}
}

// resized returns the script's own variables for sizes, with the setup's values.
func resized(s *setup.Setup) map[string]script.Resized {
	out := map[string]script.Resized{}
	for name, v := range s.Script.Variables {
		to := map[string]int{"batch": s.Batch, "seq": s.Seq, "accumulation": s.Accumulation}[v.Field]
		out[name] = script.Resized{From: v.Value, To: max(to, 1), Batch: v.Field == "batch"}
	}
	return out
}

// planned returns the trainer arguments that the user gives or a plan changes: those of transformers' trainers,
// accelerate (mixed_precision) and Lightning (precision, accumulate_grad_batches).
func planned(s *setup.Setup) map[string]any {
	out := map[string]any{}
	if s.Overrides("accumulation") {
		n := max(s.Accumulation, 1)
		out["gradient_accumulation_steps"], out["accumulate_grad_batches"] = n, n
	}
	if s.Overrides("checkpointing") {
		out["gradient_checkpointing"] = s.Checkpointing
	}
	if s.IsLaunched() && autocastType(s.Precision) != shadow.None {
		out["launched_precision"] = strings.TrimPrefix(s.Precision, "amp-")
	}
	if !s.Overrides("precision") {
		return out
	}
	switch s.Precision {
	case setup.FP32:
		out["fp16"], out["bf16"], out["mixed_precision"], out["precision"] = false, false, "no", "32-true"
	case setup.AmpFP16:
		out["fp16"], out["bf16"], out["mixed_precision"], out["precision"] = true, false, "fp16", "16-mixed"
	case setup.AmpBF16:
		out["fp16"], out["bf16"], out["mixed_precision"], out["precision"] = false, true, "bf16", "bf16-mixed"
	case setup.BF16:
		out["precision"] = "bf16-true"
	case setup.FP16:
		out["precision"] = "16-true"
	}
	return out
}

// precision returns the precision of a script: autocast's dtype, or the weights'.
func (r *run) precision(res *script.Result) string {
	switch cmp.Or(res.Autocast, r.weights) {
	case shadow.BFloat16:
		return map[bool]string{true: setup.AmpBF16, false: setup.BF16}[res.Autocasts]
	case shadow.Float16:
		return map[bool]string{true: setup.AmpFP16, false: setup.FP16}[res.Autocasts]
	}
	return ""
}

// halfWeights returns the 16-bit type that the script loads its weights in; "" for another type.
func (r *run) halfWeights() string {
	if r.builder == nil || r.weights != shadow.Float16 && r.weights != shadow.BFloat16 {
		return ""
	}
	return typeWord(r.weights)
}

// weightNotes returns a note on weights that are loaded in 16 bits only because they are saved in 16 bits, or although the
// user gave another precision.
func (r *run) weightNotes(res *script.Result) []string {
	in, path := r.halfWeights(), setup.ScriptOf(r.s.Loop)
	switch {
	case in == "" || r.s.Script.Name != "" || r.s.Quantization != nil:
		return nil
	case r.s.Script.Asks("precision") && r.s.Precision == setup.FP32:
		return []string{fmt.Sprintf("%s: precision is fp32, but the script loads its weights in %s and computes in that type; for fp32, load them with dtype=torch.float32", path, in)}
	case res.Autocasts && r.weights == r.stored() && !strings.Contains(sourceOf(r.s.Script), "dtype"):
		return []string{fmt.Sprintf("%s: the weights are loaded in %s, the type they are saved in; transformers before 5 loads them in fp32", path, in)}
	}
	return nil
}

// perUpdate returns how many backward passes the script usually runs per update; of two equally common numbers, the
// larger. The last update of an epoch may have fewer.
func perUpdate(res *script.Result) (usual int) {
	for n, updates := range res.PerUpdate {
		if most := res.PerUpdate[usual]; updates > most || updates == most && n > usual {
			usual = n
		}
	}
	return usual
}

// differences lists the settings that the script sets differently or not at all.
func differences(s *setup.Setup, res *script.Result) (out []string) {
	say := func(is bool, format string, args ...any) {
		if is {
			out = append(out, setup.ScriptOf(s.Loop)+": "+fmt.Sprintf(format, args...))
		}
	}
	per := perUpdate(res)
	say(s.Accumulation > 1 && per != s.Accumulation && !s.Changed("accumulation"), "accumulation is %d, but the script runs backward %s per update; the figures follow the script", s.Accumulation, times(per))
	say(s.Accumulation > 1 && per == 1 && s.Changed("accumulation"), "the script updates after every backward pass, so the figures do not include the gradients that accumulation %d keeps, and may be too low", s.Accumulation)
	say(s.Clip && !res.Clips && !s.Dist.DeepSpeed(), "the script does not clip gradients, so the figures do not include clipping")
	say(autocastType(s.Precision) != shadow.None && !res.Autocasts && !s.Dist.DeepSpeed(), "the script does not use autocast, so the figures do not include it")
	lever := s.Changed("precision") && autocastType(s.Precision) == shadow.None // this change has no effect under the script's autocast, so no plan contains it
	say(s.Overrides("precision") && !lever && res.Autocasts && autocastType(s.Precision) != res.Autocast, "precision is %s, but the script itself enters autocast in %s; the figures follow the script", s.Precision, res.Autocast)
	return out
}

// markPhase marks the beginning of a phase of the script in the trace.
func (r *run) markPhase(p script.Phase) {
	if r.o.Watch != nil {
		r.meterPhase(p)
	}
	r.w.Mark([...]uint32{script.Forward: Forward, script.Backward: Backward, script.Update: Optimizer, script.Evaluation: Evaluation}[p])
}

// fields describes the model to the script: the tensors of a batch, its configuration with all defaults, and its
// parameter names, from models built only for this purpose.
func (r *run) fields(how *script.Run) error {
	if r.s.Model.Code {
		return nil // the script makes its own model and batches
	}
	of := &run{s: r.s, o: Options{Card: r.o.Card, Model: r.o.Model}, calling: &family.Calling{}}
	of.newWorld()
	if err := of.loadModel(); err != nil {
		return err
	}
	if of.config != nil {
		how.Config = of.config.Complete()
	}
	how.NamesOf, how.Complete = of.namesOf(), r.completed
	how.Fields = of.batchFields(of.model)
	return nil
}

// namesOf returns the parameter names of a model that a script builds, which may have a different head.
func (r *run) namesOf() func(l script.Loading) []string {
	base, made := r.s, r.builder
	return func(l script.Loading) (out []string) {
		r.s, r.builder = base, made
		if l.Head != base.Model.Head || len(l.Config) > 0 || l.Own != nil {
			if r.prepare(script.Loading{Head: l.Head, Own: l.Own, Config: l.Config}) != nil || r.loadModel() != nil {
				return nil
			}
		}
		for _, p := range r.builder.Parameters() {
			out = append(out, p.Name())
		}
		return out
	}
}

// batchFields returns the tensors of a batch for a model.
func (r *run) batchFields(m family.Model) (out []script.Field) {
	r.w.OnHost(func() {
		b := m.Batch()
		labels, called, sound := "labels", r.s.Model.VisionInputs(), "input_features"
		if b.Sound != nil && b.Sound.Dim() == 2 {
			sound = "input_values"
		}
		if b.Ends != nil {
			labels = "start_positions"
		}
		for _, f := range []struct {
			name string
			of   *shadow.Tensor
		}{{"input_ids", b.IDs}, {"attention_mask", b.Mask}, {called.Kinds, b.Kinds}, {"pixel_values", b.Pixels}, {called.Grid, b.Grid}, {called.Tiles, b.Tiles}, {sound, b.Sound}, {labels, b.Labels}, {"end_positions", b.Ends}} {
			if f.of != nil {
				field := script.Field{Name: f.name, Size: f.of.Sizes(), DType: f.of.DType()}
				if b.IDs != nil {
					field.Rows = field.Size[0] / b.IDs.Size(0)
				}
				out = append(out, field)
			}
		}
		if _, diffuses := m.(family.Diffuser); diffuses { // the programs' collate_fn puts images first
			slices.Reverse(out)
		}
		b.Drop()
	})
	return out
}

// build loads a model for the script. The first one is the run's model.
func (r *run) build(m script.Making) (script.Net, error) {
	was := r.builder
	r.weights, r.here = m.DType, m.Here
	defer func() { r.here = false }()
	if err := r.loadModel(); err != nil {
		return nil, err
	}
	if m.Cast != shadow.None {
		r.builder.Convert(m.Cast)
	}
	switch {
	case r.hosted() && m.Loaded:
		if err := r.loadOnto(); err != nil {
			return nil, err
		}
	case r.hosted() && m.Waits:
	case r.hosted() && m.Copied:
		r.builder.CopyToCard()
	case r.hosted():
		r.builder.ToCard()
	}
	r.untuned = m.Torchtune && !r.tuned()
	n := &net{r: r, model: r.model, shape: r.shape, prefix: r.prefix, config: r.config, params: r.builder.Parameters(), builder: r.builder}
	if was != nil {
		r.builder = was
	}
	return n, nil
}

// hosted reports whether the model is created in host memory, as it is by from_config and from_pretrained.
func (r *run) hosted() bool { return !r.here && r.calling != nil && r.s.Quantization == nil }

// net is a model that a script calls.
type net struct {
	r       *run
	model   family.Model
	shape   *family.Shape // shape of its current batch
	prefix  *family.Prefix
	config  *family.Config
	params  []*shadow.Tensor
	builder *nn.Builder
	wrapper wrapper                   // around the model, on several GPUs
	entered bool                      // its forward runs, begun by Enter
	hooks   map[string]shadow.Wrapper // a reference model's own hooks on its modules
}

// ToHost is model.cpu().
func (n *net) ToHost() { n.builder.ToHost() }

// ToCard is model.to("cuda") for a model on the host.
func (n *net) ToCard() { n.builder.ToCard() }

// Free drops the model's parameters and buffers.
func (n *net) Free() { n.builder.Free() }

// Cast is model.to(dtype) on the card.
func (n *net) Cast(dt shadow.DType) { n.builder.Convert(dt) }

// CastTrained casts the trained parameters of a quantized model.
func (n *net) CastTrained(dt shadow.DType) {
	if len(n.builder.QuantizedLayers()) > 0 {
		n.builder.CastTrained(dt)
	}
}

// RopeInit is rope_init() of torchtune's rotary embedding.
func (n *net) RopeInit() {
	if m, ok := n.model.(family.Roped); ok {
		m.RopeInit()
	}
}

// Fields lists the tensors of a batch from an unknown dataset.
func (n *net) Fields() []script.Field { return n.r.batchFields(n.model) }

// Embedding reports whether a parameter is the weight of an nn.Embedding.
func (n *net) Embedding(p *shadow.Tensor) bool { return n.builder.OfEmbedding(p) }

// LayerNorm reports whether a parameter belongs to an nn.LayerNorm.
func (n *net) LayerNorm(p *shadow.Tensor) bool { return n.builder.OfLayerNorm(p) }

// Modules lists the modules inside the model.
func (n *net) Modules() (out []script.Module) {
	for _, m := range n.builder.Modules() {
		out = append(out, script.Module{Path: m.Path, Kind: m.Kind})
	}
	return out
}

// Layer returns the Linear or Embedding at a path, or nil.
func (n *net) Layer(path string) shadow.Module { return n.builder.LayerAt(path) }

// Weight returns the weight of the Linear or Embedding at a path, or nil.
func (n *net) Weight(path string) *shadow.Tensor {
	switch l := n.builder.LayerAt(path).(type) {
	case *nn.Linear:
		return l.Weight
	case *nn.Conv1D:
		return l.Weight
	case *nn.Embedding:
		return l.Weight
	}
	return nil
}

// Replace replaces the parameters at a path with those of a new module.
func (n *net) Replace(path string, parts []shadow.NamedTensor, moved func(path string) (string, bool)) []*shadow.Tensor {
	gone := n.builder.Replace(path, parts, moved)
	n.params = n.builder.Parameters()
	return gone
}

func (n *net) Parameters() []*shadow.Tensor { return n.params }

// Call runs forward in the mode in which the script calls the model.
func (n *net) Call(b family.Batch, mode script.Mode) family.Outputs {
	r := n.r
	var out family.Outputs
	*r.calling = family.Calling{Keep: &out, Cache: !mode.NoCache, States: mode.States, Checkpointing: r.checkpointing(mode), Unchecked: mode.Unchecked, Reentrant: cmp.Or(r.s.UseReentrant, mode.Reentrant), Items: mode.Items, Padded: mode.Padded, Every: mode.Every, Chunks: mode.Chunks, SkipLogits: mode.SkipLogits, Base: mode.Base, Last: mode.Last, Past: mode.Past, Grow: mode.Grow}
	r.recomputes = r.recomputes || r.calling.Checkpointing && !mode.Eval
	r.ineffective = r.ineffective || mode.Checkpointing && mode.Eval && r.w.GradEnabled()
	if n.prefix.Tokens > 0 && r.calling.Checkpointing && !mode.Eval {
		panic(stopped{setup.PrefixRecomputed()})
	}
	n.builder.NoisyInputs(mode.Noise)
	if mode.InputGrads {
		n.builder.EnableInputRequireGrads()
	}
	if b.IDs != nil {
		n.shape.Seq = b.IDs.Size(-1)
		n.shape.Batch = b.IDs.Numel() / max(n.shape.Seq, 1)
	}
	if b.Labels != nil && b.Labels.Dim() == 2 {
		n.shape.TargetSeq = b.Labels.Size(1)
	}
	if b.DecoderIDs != nil {
		n.shape.TargetSeq = b.DecoderIDs.Size(1)
	}
	if input := cmp.Or(b.Pixels, b.Sound); input != nil && b.IDs == nil {
		n.shape.Batch = input.Size(0)
	}
	r.w.Eval, r.w.Undropped, r.w.Unadapted = mode.Eval, mode.Undropped, mode.Unadapted
	out.Loss = n.forward(func() *shadow.Tensor { return n.model.Loss(b) }, &out).Hold()
	r.w.Eval, r.w.Unadapted = false, false
	if e := r.s.Evaluation; e != nil && mode.Eval && out.Logits != nil {
		e.Learn(out.Logits.Bytes())
	}
	return out
}

// times returns a count in words.
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// checkpointing reports whether a call of the model recomputes its layers. The script turns it on or off, unless
// a plan overrides it.
func (r *run) checkpointing(mode script.Mode) bool {
	if r.s.Overrides("checkpointing") {
		return r.s.Checkpointing
	}
	return mode.Checkpointing
}
