// SPDX-License-Identifier: Apache-2.0

package systems

// Effects on memory of keys that several systems have. They complete a sentence that begins with the key.
const (
	offloadsStates      = "keeps optimizer states in CPU memory"
	offloadsWeights     = "keeps weights in CPU memory"
	offloadsAll         = "keeps weights, gradients and optimizer states in CPU memory"
	offloadsActivations = "keeps activations in CPU memory"
	splitsLayers        = "splits the layers over GPUs"
	splitsTokens        = "splits each sample over GPUs"
	compiles            = "lets torch.compile decide what to keep for backward"
	generates           = "generates text in the evaluation"
	lowRankStates       = "keeps low-rank optimizer states"
	fewLayers           = "trains only some of the weights"
	noLogits            = "computes the logits in chunks"
	pagedStates         = "keeps optimizer states outside PyTorch's memory, and the driver may move them to the CPU"
)

// offloads returns a key that sets whether DeepSpeed keeps something on the GPU or elsewhere.
func offloads(path, does, source string) Key {
	return Key{
		Setting: "noted", Path: path, Kind: Word, Then: takesLess, Source: source,
		Words: []Term{{"none", ""}, {"", ""}, {"cpu", does}, {"nvme", does + " or on disk"}},
	}
}

// compilesUnless returns a key that names a compiler, "no" for none.
func compilesUnless(path, source string) Key {
	return Key{Setting: "noted", Path: path, Kind: Word, Words: []Term{{"no", ""}, {"NO", ""}, {"false", ""}, {"", ""}}, Means: compiles, Then: takesEither, Source: source}
}

// marked returns a noted key for words that have an effect besides their setting.
func marked(path string, then Deviation, source string, words ...Term) Key {
	return Key{Setting: "noted", Path: path, Kind: Word, Words: words, Then: then, Source: source}
}

// at returns the keys with a prefix added to their paths: another key, or a pattern for any depth.
func at(prefix string, keys ...Key) []Key {
	out := make([]Key, len(keys))
	for i, k := range keys {
		k.Path = prefix + k.Path
		out[i] = k
	}
	return out
}

// paged returns a noted key for bitsandbytes' paged optimizers.
func paged(path, source string) Key {
	return marked(path, takesEither, source,
		Term{"paged_adamw_32bit", pagedStates}, Term{"paged_adamw_8bit", pagedStates}, Term{"paged_lion_32bit", pagedStates}, Term{"paged_lion_8bit", pagedStates},
		Term{"bitsandbytes.optim.PagedAdamW8bit", pagedStates}, Term{"PagedAdamW8bit", pagedStates},
		Term{"bitsandbytes.optim.PagedAdamW32bit", pagedStates}, Term{"bitsandbytes.optim.PagedAdamW", pagedStates},
		Term{"PagedAdamW32bit", pagedStates}, Term{"PagedAdamW", pagedStates})
}

// evalTimes are the values for when transformers' trainer evaluates.
var evalTimes = []Term{{"no", ""}, {"false", ""}, {"steps", "steps"}, {"epoch", "epoch"}, {"best", "epoch"}}
