// SPDX-License-Identifier: Apache-2.0

package script

import "snug/internal/shadow"

// Natives for site-packages/torchtune.py that need the model. The model itself: internal/family/torchtune.go.

func registerTorchtune() {
	natives["snug.torchtune_model"] = torchtuneModel
	natives["snug.rope_init"] = ropeInit
	for _, name := range []string{"modules", "modules.loss", "modules.peft", "training", "utils"} {
		aliases["torchtune."+name] = "torchtune"
	}
	for _, name := range []string{"llama2", "llama3", "llama3_1", "llama3_2", "mistral", "qwen2", "qwen2_5"} {
		aliases["torchtune.models."+name] = "torchtune.models"
		aliases["torchtune.models."+name+"._component_builders"] = "torchtune.models"
		aliases["torchtune.models."+name+"._model_builders"] = "torchtune.models"
	}
}

// torchtuneModel builds the setup's model from torchtune's modules at once, with adapters if a rank is given.
func torchtuneModel(in *interpreter, a arguments) value {
	n := &network{dtype: in.dtype, here: in.device == "cuda", bare: true}
	n.loading.Torchtune = true
	n.mode.NoCache = true
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

// listOf returns a list of the tensors ts, which it takes over.
func listOf(ts []*shadow.Tensor) value {
	l := &list{}
	for _, t := range ts {
		l.items = append(l.items, t)
	}
	return l
}
