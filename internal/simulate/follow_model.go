// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"snug/internal/family"
	"snug/internal/script"
	"snug/internal/setup"
	"snug/internal/shadow"
)

// modelType returns the config's model_type.
func (r *run) modelType() string {
	name, _ := r.s.Model.Config["model_type"].(string)
	return name
}

// causal reports whether the model's loss predicts the next token.
func (r *run) causal() bool {
	facts, ok := family.FactsOf(r.modelType())
	return ok && len(facts.Heads) > 0 && cmp.Or(r.s.Model.Head, facts.Heads[0]) == family.CausalLM
}

// shifts reports whether transformers' Trainer counts labels from the second token, which it does if the model's
// class name contains ForCausalLM.
func (r *run) shifts() bool {
	facts, _ := family.FactsOf(r.modelType())
	return r.causal() && !facts.LMHead
}

// stored returns the dtype of the weights that from_pretrained reads, according to the config.
func (r *run) stored() shadow.DType {
	for _, key := range []string{"dtype", "torch_dtype"} {
		switch name, _ := r.s.Model.Config[key].(string); name {
		case "bfloat16":
			return shadow.BFloat16
		case "float16":
			return shadow.Float16
		case "float32":
			return shadow.Float32
		}
	}
	return shadow.None
}

// named returns the configuration of a model that the script names, or nil for the setup's own model.
func (r *run) named() func(name string) (map[string]any, bool) {
	read := r.s.Script.Config
	if read == nil || r.s.Model.Config == nil {
		return nil
	}
	base := r.s.Model.Config
	mine := sync.OnceValue(func() *run { return r.sample(base) })
	return func(name string) (map[string]any, bool) {
		config, err := read(name)
		if err != nil || len(config) == 0 {
			return nil, false
		}
		if reflect.DeepEqual(config, base) {
			return nil, true
		}
		own := r.sample(config)
		if own == nil {
			return nil, false
		}
		if mine := mine(); mine != nil && own.describes(mine) {
			return nil, true
		}
		return own.config.Complete(), true
	}
}

// sample builds a model from a configuration for inspection, or returns nil if that fails.
func (r *run) sample(config map[string]any) *run {
	of := &run{s: &setup.Setup{Model: setup.Model{Config: config}, Batch: 1, Seq: r.s.Seq}, o: Options{Card: r.o.Card}, calling: &family.Calling{}}
	of.newWorld()
	if of.loadModel() != nil {
		return nil
	}
	return of
}

// completed returns a configuration with all defaults.
func (r *run) completed(config map[string]any) map[string]any {
	if of := r.sample(config); of != nil {
		return of.config.Complete()
	}
	return config
}

// describes reports whether both models are of the same family, with parameters of the same names and sizes.
func (r *run) describes(other *run) bool {
	same := func(a, b *shadow.Tensor) bool { return a.Name() == b.Name() && slices.Equal(a.Sizes(), b.Sizes()) }
	return r.modelType() == other.modelType() && slices.EqualFunc(r.builder.Parameters(), other.builder.Parameters(), same)
}

// attentions maps transformers' attn_implementation to the setup's names.
var attentions = map[string]string{
	"eager": "eager", "sdpa": "sdpa", "flash_attention_2": "flash", "flash_attention_3": "flash", "kernels-community/flash-attn2": "flash",
}

// maker returns the function that builds a script's models: the setup's model with the script's changes.
func (r *run) maker() func(m script.Making) (script.Net, error) {
	base := r.s
	return func(m script.Making) (script.Net, error) {
		r.s = base
		if err := r.prepare(m.Loading); err != nil {
			return nil, err
		}
		n, err := r.build(m)
		return n, r.headless(m.Loading, err)
	}
}

// headless adds the script's class to the error for a head that the model's family does not have.
func (r *run) headless(l script.Loading, err error) error {
	var wrong *setup.FieldError
	if l.Where == "" || !errors.As(err, &wrong) || wrong.Field != "model.head" {
		return err
	}
	return &script.Unsimulated{Text: fmt.Sprintf("%s: %s has a head that is not simulated for %s; record the run: snug profile -- python3 %s", l.Where, l.Class, r.s.Model.Title(), r.s.Loop)}
}

// prepare sets how the script's next model is built.
func (r *run) prepare(l script.Loading) error {
	s := *r.s
	if l.Head != "" && s.Model.Config != nil {
		s.Model.Head = l.Head
		if l.Head == family.Seq2SeqLM && s.Model.HasVision() { // the class name is that of seq2seq models only if they have no vision tower
			s.Model.Head = family.CausalLM
		}
	}
	s.Model.Classes = cmp.Or(l.Classes, s.Model.Classes)
	if l.Own != nil {
		s.Model = setup.Model{Config: l.Own, Head: l.Head}
		s.LoRA, s.Quantization = nil, nil
	}
	if s.Model.Head == family.MultipleChoice {
		s.Choices = cmp.Or(s.Choices, setup.SWAGChoices)
	}
	if len(l.Config) > 0 && s.Model.Config != nil {
		s.Model.Config = maps.Clone(s.Model.Config)
		maps.Copy(s.Model.Config, l.Config)
	}
	if l.Unadapted {
		s.LoRA = nil
	}
	s.Loss = cmp.Or(s.Loss, l.Loss)
	if name := attentions[l.Attention]; name != "" {
		s.Attention = name
	}
	switch q := l.Quantized; {
	case q != nil && q.Packed != nil && s.Quantization.Packed(): // the model's files say how they are quantized
		s.Quantization = prepared(s.Quantization, q.Prepare)
	case q != nil:
		s.Quantization = quantizationOf(q)
	}
	if l.Halves && s.Quantization != nil && (l.Quantized != nil || s.Script.Name == "") { // a loop known by name has the setup's adapters
		q := *s.Quantization
		q.Adapters, q.KeepsEmbeddings = setup.BF16, true
		s.Quantization = &q
	}
	r.s = &s
	r.fresh = l.Fresh
	r.torchtune = l.Torchtune && s.Quantization == nil && (s.LoRA == nil || !s.LoRA.DoRA)
	r.setLiger(l.Liger)
	if l.Adapters == nil {
		return nil
	}
	return r.setAdapters(*l.Adapters)
}

// prepared returns a quantization after prepare_model_for_kbit_training, which does not change a model quantized by GPTQ.
func prepared(q *setup.Quantization, prepare bool) *setup.Quantization {
	if !prepare || q.ByGPTQ() {
		return q
	}
	own := *q
	own.Prepare = true
	return &own
}

// quantizationOf returns a script's quantization as a setup has it.
func quantizationOf(q *script.Quantized) *setup.Quantization {
	switch {
	case q.Packed != nil && q.Packed.AWQ:
		return &setup.Quantization{Bits: q.Packed.Bits, Method: setup.AWQ, Group: q.Packed.Group, Prepare: q.Prepare}
	case q.Packed != nil:
		return &setup.Quantization{Bits: q.Packed.Bits, Method: setup.GPTQ, Group: q.Packed.Group}
	case q.Eight:
		return &setup.Quantization{Bits: setup.EightBits, Prepare: q.Prepare}
	}
	return &setup.Quantization{Bits: 4, Double: q.Double, Compute: typeWord(q.Compute), Prepare: q.Prepare}
}

// typeWord returns a setup's name for a dtype.
func typeWord(dt shadow.DType) string {
	switch dt {
	case shadow.BFloat16:
		return setup.BF16
	case shadow.Float16:
		return setup.FP16
	}
	return setup.FP32
}

// setLiger adds Liger's kernels to the setup, if there are any for the model.
func (r *run) setLiger(l *script.Liger) {
	if l == nil || !r.s.Model.HasLiger() {
		return
	}
	s := *r.s
	s.Liger = nil
	for i, on := range []bool{l.Rope, l.Norm, l.MLP} {
		if on {
			s.Liger = append(s.Liger, setup.LigerParts[i])
		}
	}
	if l.Loss {
		s.Loss = setup.LigerLoss
	}
	r.s = &s
}

// adapt adds adapters to a model that is already on the card.
func (r *run) adapt(n script.Net, a script.Adapters) error {
	made, ok := n.(*net)
	if ok && made.builder.Adapted() { // the setup's adapters, which were added when the model was built
		return nil
	}
	if err := r.setAdapters(a); err != nil || !ok {
		return err
	}
	was := *r
	r.builder, r.model, r.shape, r.prefix, r.config = made.builder, made.model, made.shape, made.prefix, made.config
	err := r.addLora()
	made.params, made.model = r.builder.Parameters(), r.model
	r.builder, r.model, r.shape, r.prefix, r.config = was.builder, was.model, was.shape, was.prefix, was.config
	return err
}

// setAdapters adds adapters to the setup.
func (r *run) setAdapters(a script.Adapters) error {
	s := *r.s
	s.LoRA = &setup.LoRA{
		Rank: a.Rank, Dropout: a.Dropout, Targets: a.Targets, Save: a.Save, DoRA: a.DoRA, PEFT: true, Tuner: a.Tuner,
		Feedforward: a.Feedforward, Virtual: a.VirtualTokens, Encoder: a.EncoderHidden, Projection: a.Projection, Block: a.Block,
	}
	if err := s.CompleteAdapters(); err != nil {
		return err
	}
	if name := r.lastLayer(); a.Classes && !slices.Contains(a.Save, name) && family.Classifies(s.Model.Head) {
		s.LoRA.Save = append(slices.Clip(a.Save), name)
	}
	r.s = &s
	return nil
}

// lastLayer returns the name of a classification model's last layer, which PEFT trains in full.
func (r *run) lastLayer() string {
	facts, ok := family.FactsOf(r.modelType())
	switch {
	case r.s.Model.Head == family.QuestionAnswering:
		return "qa_outputs"
	case ok && slices.Contains(facts.Heads, family.CausalLM):
		return facts.OutputOf(r.s.Model.Head)
	}
	return "classifier"
}
