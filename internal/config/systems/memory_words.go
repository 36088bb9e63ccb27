// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"slices"
	"strings"
)

// Topic is the subject of a key that no table lists, judging by the words in its name.
type Topic string

// The topics.
const (
	OfAdapters  Topic = "adapters"
	OfBits      Topic = "quantized weights"
	OfLength    Topic = "length"
	OfFrozen    Topic = "frozen weights"
	OfAttention Topic = "attention"
	OfMemory    Topic = "memory" // anything else that affects memory
)

// topicList is a topic and the words that indicate it.
type topicList struct {
	topic Topic
	words []string
}

// topicWords are words in key names that indicate a topic. idleWords are words next to them that make a key
// irrelevant to memory, such as an adapter's folder or learning rate.
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

// TopicOf returns the topic of a key, judging by the words in its name; "" if it does not affect memory.
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
			if t.topic == OfAttention && slices.Contains(words, "norm") { // it describes a layer of the model, which the model itself decides
				return ""
			}
			return t.topic
		}
	}
	return ""
}

// namesMethod reports whether a word alone names a method, so that a key with it counts regardless of its other words:
// spectrum_config_path turns Spectrum on.
func namesMethod(word string) bool { return word == "4bit" || word == "8bit" || word == "spectrum" }

// splitsModel reports whether a key's words indicate one process that splits a model's layers over several GPUs.
func splitsModel(words []string) bool { return slices.Equal(words, []string{"device", "map"}) }

// addsLoss reports whether a key's words name a switch for another loss, such as use_contrastive_loss.
func addsLoss(words []string) bool {
	return len(words) > 2 && words[len(words)-1] == "loss" && slices.Contains([]string{"use", "enable", "with", "add", "do", "apply"}, words[0])
}

// ChangesAdapters reports whether a key about adapters or frozen weights changes the adapters that are counted: another
// kind, other layers, or weights that are also trained.
func ChangesAdapters(key string) bool {
	return slices.ContainsFunc(nameWords(key), func(w string) bool {
		return slices.Contains([]string{
			"dora", "adalora", "relora", "longlora", "lokr", "loha", "oft", "boft", "ia3", "loftq", "modules", "module", "layers", "target", "targets", "exclude", "unfreeze", "unfrozen", "trainable",
		}, w)
	})
}

// SharesTopic reports whether two keys have the same subject, such as use_galore and galore_rank.
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

// NamesBits reports whether a name indicates weights quantized to 4 bits, as qlora and llama-7b-4bit do.
func NamesBits(name string) bool {
	return slices.ContainsFunc(nameWords(name), func(w string) bool { return slices.Contains([]string{"qlora", "qdora", "4bit", "int4", "nf4"}, w) })
}

// NamesAdapters reports whether a name indicates that adapters are trained, as llama-7b-lora does.
func NamesAdapters(name string) bool {
	return NamesBits(name) || slices.ContainsFunc(nameWords(name), func(w string) bool { return slices.Contains([]string{"lora", "dora", "adalora", "peft"}, w) })
}

// TopicOfTuner returns the topic of a value that names a tuning method; "" if the method trains everything.
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
