// SPDX-License-Identifier: Apache-2.0

package systems

import "snug/internal/config/doc"

const factoryV1 = "LLaMA-Factory, src/llamafactory/v1 and examples/v1"

// llamaFactoryV1 is the YAML of LLaMA-Factory's new trainer, which has keys and a loop of its own. Only that it is one
// is known.
var llamaFactoryV1 = System{
	Name: "llama-factory-v1", Title: "LLaMA-Factory's v1 trainer", Formats: []doc.Format{doc.YAML, doc.JSON},
	Signs: []string{"model model_class train_dataset"},
	Keys:  keysOf(llamaFactoryV1Keys),
}

func llamaFactoryV1Keys() []Key {
	return []Key{
		{Setting: "model", Path: "model", Kind: Name, Source: factoryV1},
		{Setting: "batch", Path: "micro_batch_size", Kind: Whole, Unit: "samples per GPU", Source: factoryV1},
		{Setting: "seq", Path: "cutoff_len", Kind: Whole, Unit: "tokens", Source: factoryV1},
		{Setting: "refused", Path: "model_class", Kind: Present, Means: "is a key of LLaMA-Factory's v1 trainer, which has a loop of its own", Source: factoryV1},
	}
}
