// SPDX-License-Identifier: Apache-2.0

package script

import "snug/internal/shadow"

// Native functions for site-packages/torchtune.py that need the model. The model itself is in
// internal/family/torchtune.go.

func registerTorchtune() {
	natives["snug.torchtune_model"] = torchtuneModel
	natives["snug.rope_init"] = ropeInit
	for _, name := range []string{"modules", "modules.loss", "modules.peft", "training", "utils"} {
		aliases["torchtune."+name] = "torchtune"
	}
	for _, module := range builderModules {
		aliases[module] = "torchtune.models"
		aliases[module+"._component_builders"] = "torchtune.models"
		aliases[module+"._model_builders"] = "torchtune.models"
	}
}

// builderModules are torchtune's Python modules with model builders that are followed.
var builderModules = []string{
	"torchtune.models.llama2", "torchtune.models.llama3", "torchtune.models.llama3_1", "torchtune.models.llama3_2",
	"torchtune.models.mistral", "torchtune.models.qwen2", "torchtune.models.qwen2_5",
}

// torchtuneModel immediately builds the setup's model from torchtune's modules, with adapters if a rank is given.
func torchtuneModel(in *interpreter, a arguments) value {
	n := &network{dtype: in.dtype, here: in.device == "cuda", bare: true}
	n.loading.Torchtune = true
	n.mode.NoCache = true
	if in.survey != nil && !in.survey.known {
		panic(failure{path: in.File.Path, at: in.at, text: "the sizes of torchtune's models are not read from its builders"})
	}
	if rank, ok := a.or(-1, "rank", nil).(int); ok {
		drop, _ := number(a.or(-1, "dropout", 0.0))
		n.loading.Adapters = &Adapters{Rank: rank, Dropout: drop, Targets: texts(in, a.or(-1, "targets", nil))}
	}
	n.made(in)
	return n
}

// ropeInit implements rope_init() of the model's rotary embedding.
func ropeInit(in *interpreter, a arguments) value {
	if n, ok := a.or(0, "", nil).(*network); ok {
		n.there(in).RopeInit()
	}
	return nil
}

// listOf returns a list of the tensors ts, which it takes ownership of.
func listOf(ts []*shadow.Tensor) value {
	l := &list{}
	for _, t := range ts {
		l.items = append(l.items, t)
	}
	return l
}
