// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"snug/internal/family"
	"snug/internal/pysrc"
	"snug/internal/script"
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// Loop is a training script whose loop is followed in place of our own.
type Loop struct {
	File     *pysrc.File
	Args     []string                                 // of its command line
	Settings map[string]any                           // what a trainer's arguments are set to
	Import   func(module string) (*pysrc.File, error) // reads a module beside it
}

// follow runs the script that the options name.
func (r *run) follow() error {
	l, base := r.o.Loop, r.s
	res, err := script.Follow(script.Run{
		World: r.w, File: l.File, Args: l.Args, Settings: l.Settings, Import: l.Import,
		Batch: r.s.Batch, Seq: r.s.Seq, Fields: r.fields(), Accumulation: r.s.Accumulation,
		Optimizer: r.s.Optimizer, Autocast: autocastType(r.s.Precision),
		Build: r.build, Mark: r.markPhase, Prepare: func(l script.Loading) error { r.s = base; return r.prepare(l) }, Adapt: r.adapt,
		Causal: r.causal(), Shifts: r.shifts(), Stored: r.stored(),
	})
	if err != nil {
		return err
	}
	r.notes = res.Notes
	return nil
}

// markPhase marks the trace with what the script comes to.
func (r *run) markPhase(p script.Phase) {
	r.w.Mark([...]uint32{script.Forward: Forward, script.Backward: Backward, script.Update: Optimizer, script.Evaluation: Forward}[p])
}

// fields is the tensors of a batch as the model takes them.
func (r *run) fields() []script.Field {
	s := r.s
	rows := func(name string, dt shadow.DType, size ...int) script.Field {
		return script.Field{Name: name, Size: append([]int{s.Batch}, size...), DType: dt}
	}
	out := []script.Field{rows("input_ids", shadow.Int64, s.Seq)}
	if s.AttentionMask == nil || *s.AttentionMask {
		out = append(out, rows("attention_mask", shadow.Int64, s.Seq))
	}
	return append(out, rows("labels", shadow.Int64, s.Seq))
}

// build loads a model for the script. The first one is the run's own.
func (r *run) build(dt shadow.DType) (script.Net, error) {
	was := r.builder
	r.weights = dt
	if err := r.loadModel(); err != nil {
		return nil, err
	}
	if r.hosted() {
		r.builder.ToCard()
	}
	n := &net{r: r, model: r.model, builder: r.builder, params: r.builder.Parameters()}
	if was != nil {
		r.builder = was
	}
	return n, nil
}

// hosted reports whether the model is made in the host's memory, as from_config and from_pretrained do.
func (r *run) hosted() bool {
	return r.calling != nil && r.s.Quantization == nil && r.s.Dist == nil
}

// net is a model that a script calls.
type net struct {
	r       *run
	model   family.Model
	builder *nn.Builder
	params  []*shadow.Tensor
}

// Embedding reports whether a parameter is the table of an nn.Embedding.
func (n *net) Embedding(p *shadow.Tensor) bool { return n.builder.OfEmbedding(p) }

// LayerNorm reports whether a parameter belongs to an nn.LayerNorm.
func (n *net) LayerNorm(p *shadow.Tensor) bool { return n.builder.OfLayerNorm(p) }

func (n *net) Parameters() []*shadow.Tensor { return n.params }

// Call runs forward as the script calls the model.
func (n *net) Call(b family.Batch, mode script.Mode) family.Outputs {
	r := n.r
	var out family.Outputs
	*r.calling = family.Calling{Keep: &out, Cache: !mode.NoCache, Checkpointing: mode.Checkpointing, Reentrant: mode.Reentrant, Items: mode.Items, Every: mode.Every, SkipLogits: mode.SkipLogits}
	n.builder.NoisyInputs(mode.Noise)
	if mode.InputGrads {
		n.builder.EnableInputRequireGrads()
	}
	if b.IDs != nil {
		r.shape.Batch, r.shape.Seq = b.IDs.Size(0), b.IDs.Size(1)
	}
	if b.Pixels != nil {
		r.shape.Batch = b.Pixels.Size(0)
	}
	r.w.Eval = mode.Eval
	out.Loss = r.forward(func() *shadow.Tensor { return n.model.Loss(b) }).Hold()
	r.w.Eval = false
	return out
}
