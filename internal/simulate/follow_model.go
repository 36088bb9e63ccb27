// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"

	"snug/internal/family"
	"snug/internal/script"
	"snug/internal/setup"
	"snug/internal/shadow"
)

// modelType is the config's model_type.
func (r *run) modelType() string {
	name, _ := r.s.Model.Config["model_type"].(string)
	return name
}

// causal reports whether the model's loss predicts the next token.
func (r *run) causal() bool {
	facts, ok := family.FactsOf(r.modelType())
	return ok && len(facts.Heads) > 0 && cmp.Or(r.s.Model.Head, facts.Heads[0]) == family.CausalLM
}

// stored is the type of the weights that from_pretrained reads: what the config says.
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

// adapt puts adapters into a model of the script, or into the next one that it builds.
func (r *run) adapt(n script.Net, a script.Adapters) error {
	s := *r.s
	s.LoRA = &setup.LoRA{Rank: a.Rank, Dropout: a.Dropout, Targets: a.Targets, Save: a.Save, DoRA: a.DoRA, PEFT: true}
	if len(a.Targets) == 0 {
		facts, _ := family.FactsOf(r.modelType())
		s.LoRA.Targets = facts.LoRA
	}
	if len(s.LoRA.Targets) == 0 {
		return setup.Wrong("PEFT knows no layers of %s to adapt by itself; set target_modules", s.Model.Title())
	}
	r.s = &s
	made, ok := n.(*net)
	if !ok {
		return nil
	}
	was := r.builder
	r.builder = made.builder
	err := r.addLora()
	made.params = r.builder.Parameters()
	r.builder = was
	return err
}
