// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"slices"
	"strings"
)

// Topic is what a key that no table lists is about, judging by the words in its name.
type Topic string

// The topics.
const (
	OfAdapters  Topic = "adapters"
	OfBits      Topic = "quantized weights"
	OfLength    Topic = "length"
	OfFrozen    Topic = "frozen weights"
	OfAttention Topic = "attention"
	OfMemory    Topic = "memory" // in some other way
)

// topicList holds words that are about a topic.
type topicList struct {
	topic Topic
	words []string
}

// topicWords are words of names that are about a topic, and idleWords the words next to them that make a key
// irrelevant to memory: the folder of an adapter, its learning rate.
var (
	topicWords = []topicList{
		{OfAdapters, []string{"lora", "qlora", "dora", "adalora", "relora", "longlora", "peft", "adapter", "adapters", "lokr", "loha", "ia3", "oft", "boft", "pissa", "loftq"}},
		{OfBits, []string{
			"4bit", "8bit", "bits", "nbits", "wbits", "quant", "quantize", "quantized", "quantizer", "quantization", "bnb", "int8", "int4", "nf4",
			"gptq", "awq", "hqq", "aqlm", "eetq",
		}},
		{OfFrozen, []string{"freeze", "frozen", "unfreeze", "unfrozen", "trainable", "lisa", "badam", "spectrum"}},
		{OfAttention, []string{"attn", "attention", "flash", "xformers", "sdpa"}},
		{OfMemory, []string{
			"qat", "fp8", "float8", "mxfp4", "nvfp4", "galore", "apollo", "neftune", "liger", "unsloth", "offload", "offloading", "checkpointing", "recompute", "recomputation", "compile", "muon", "ema", "parallel", "depths",
		}},
	}
	idleWords = []string{
		"alpha", "dropout", "lr", "learning", "decay", "ratio", "init", "path", "dir", "file", "name", "id", "checkpoint", "checkpointer", "save", "saved", "saving", "merge", "merged", "load", "resume",
		"task", "rslora", "fan", "vllm", "sglang", "serve", "export", "push", "hub", "steps", "interval", "every", "kwargs", "reentrant", "seed", "test", "eval", "plot", "log", "note", "prefix", "bias",
		"mask", "maskings", "weight", "padding", "overlap", "fraction", "temperature", "debug", "timeout", "prefetch", "autocast", "studio", "version", "branch", "commit", "hash", "verbose",
	}
)

// TopicOf returns what a key is about, judging by the words in its name; "" if it has nothing to do with memory.
func TopicOf(key string) Topic {
	words := nameWords(key)
	if slices.ContainsFunc(words, func(w string) bool { return slices.Contains(idleWords, w) }) && !slices.ContainsFunc(words, namesMethod) {
		return ""
	}
	if splitsModel(words) || addsLoss(words) {
		return OfMemory
	}
	if isLength(words) {
		return OfLength
	}
	for _, t := range topicWords {
		if slices.ContainsFunc(words, func(w string) bool { return slices.Contains(t.words, w) }) {
			return t.topic
		}
	}
	return ""
}

// namesMethod reports whether a word names a method by itself, so that a key with it counts whatever its other words are:
// spectrum_config_path turns Spectrum on.
func namesMethod(word string) bool { return word == "4bit" || word == "8bit" || word == "spectrum" }

// splitsModel reports whether the words of a key are about one process that spreads a model's layers over several GPUs.
func splitsModel(words []string) bool { return slices.Equal(words, []string{"device", "map"}) }

// addsLoss reports whether the words of a key are those of a switch for another loss, such as use_contrastive_loss.
func addsLoss(words []string) bool {
	return len(words) > 2 && words[len(words)-1] == "loss" && slices.Contains([]string{"use", "enable", "with", "add", "do", "apply"}, words[0])
}

// ChangesAdapters reports whether a key about adapters, or about frozen weights, makes counted adapters different: others, on
// other layers, or weights that are trained as well.
func ChangesAdapters(key string) bool {
	return slices.ContainsFunc(nameWords(key), func(w string) bool {
		return slices.Contains([]string{
			"dora", "adalora", "relora", "longlora", "lokr", "loha", "oft", "boft", "ia3", "loftq", "modules", "module", "layers", "target", "targets", "exclude", "unfreeze", "unfrozen", "trainable",
		}, w)
	})
}

// SharesTopic reports whether two keys are about the same thing, such as use_galore and galore_rank.
func SharesTopic(a, b string) bool {
	words := nameWords(b)
	return slices.ContainsFunc(nameWords(a), func(w string) bool {
		return slices.Contains(words, w) && slices.ContainsFunc(topicWords, func(t topicList) bool { return slices.Contains(t.words, w) })
	})
}

// isLength reports whether the words of a key name a number of tokens per sample.
func isLength(words []string) bool {
	has := func(any ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(any, w) })
	}
	if has("new", "generation", "gen", "generate", "generated", "completion", "response", "min", "label", "group", "column", "target", "answer", "position", "positions", "batch", "warmup", "rope", "oft", "boft", "quant", "original", "history", "speculative", "total", "train", "num", "word") {
		return false
	}
	switch {
	case has("length", "len"):
		return has("max", "seq", "sequence", "context", "model", "input", "source", "text", "cutoff", "ctx", "prompt", "query", "passage") || len(words) == 1
	case has("cutoff"):
		return len(words) == 1
	case has("block"):
		return has("size") && len(words) == 2
	case has("tokens"):
		return has("max") && len(words) == 2
	}
	return strings.Join(words, "_") == "n_ctx"
}

// NamesBits reports whether a name says that weights are quantized to 4 bits, as qlora and llama-7b-4bit do.
func NamesBits(name string) bool {
	return slices.ContainsFunc(nameWords(name), func(w string) bool { return slices.Contains([]string{"qlora", "qdora", "4bit", "int4", "nf4"}, w) })
}

// NamesAdapters reports whether a name says that adapters are trained, as llama-7b-lora does.
func NamesAdapters(name string) bool {
	return NamesBits(name) || slices.ContainsFunc(nameWords(name), func(w string) bool { return slices.Contains([]string{"lora", "dora", "adalora", "peft"}, w) })
}

// TopicOfTuner returns what a value that names a way of tuning is about; "" if it trains everything.
func TopicOfTuner(key, value string) Topic {
	words := nameWords(key)
	tunes := slices.ContainsFunc(words, func(w string) bool {
		return slices.Contains([]string{"tuner", "tuning", "finetuning", "finetune", "training", "train", "peft", "method"}, w)
	})
	if !tunes || !slices.ContainsFunc(words, func(w string) bool {
		return slices.Contains([]string{"type", "method", "mode", "tuner", "strategy"}, w)
	}) {
		return ""
	}
	if topic := TopicOf(value); topic == OfAdapters || topic == OfFrozen {
		return topic
	}
	return ""
}
