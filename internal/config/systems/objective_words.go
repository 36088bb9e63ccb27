// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"slices"
	"strings"

	"snug/internal/family"
)

// Objectives have only a few names, whether in keys, values, programs, folders or classes. So files of a
// system without a table, or of a newer release, can be understood by the words in them.

// wordsOf maps words in names to the objectives that they stand for; "" means a loss over tokens.
var wordsOf = map[string]string{
	"sft": "", "pretrain": "", "pretraining": "", "clm": "", "mlm": "",
	"dpo": comparesPairs, "ipo": comparesPairs, "orpo": comparesPairs, "simpo": comparesPairs, "cpo": comparesPairs, "tpo": comparesPairs,
	"xpo": samplesFirst, "preference": comparesPairs, "preferences": comparesPairs, "rrhf": comparesPairs,
	"kto": weighsAnswers, "bco": weighsAnswers,
	"rm": scoresAnswers, "reward": scoresAnswers, "rewards": scoresAnswers, "prm": scoresAnswers, "orm": scoresAnswers,
	"ppo": samplesFirst, "grpo": samplesFirst, "gdpo": samplesFirst, "gspo": samplesFirst, "dapo": samplesFirst, "rloo": samplesFirst,
	"rl": samplesFirst, "rlhf": samplesFirst, "rlvr": samplesFirst, "reinforce": samplesFirst, "ebft": samplesFirst, "nash": samplesFirst,
	"rollout": samplesFirst, "critic": samplesFirst,
	"gkd": distils, "kd": distils, "opd": distils, "minillm": distils, "teacher": distils,
	"distill": distils, "distil": distils, "distillation": distils, "distilling": distils,
	"diffusion": denoises, "dreambooth": denoises, "controlnet": denoises, "mezo": withoutBackward, "setfit": comparesTexts, "simcse": comparesTexts, "contrastive": comparesTexts,
	"pyreft": intervenes, "pyvene": intervenes,
}

// programWords are words that stand for an objective only in the names of programs, because models and layers
// have them in their names too.
var programWords = map[string]string{
	"embedder": comparesTexts, "embedding": comparesTexts, "embeddings": comparesTexts, "reranker": comparesTexts, "rerank": comparesTexts,
	"retriever": comparesTexts, "retrieval": comparesTexts, "colbert": comparesTexts, "crossencoder": comparesTexts, "biencoder": comparesTexts, "simcse": comparesTexts,
}

// ObjectiveOfProgram is ObjectiveOf for the name of a program.
func ObjectiveOfProgram(name string) (word, does string) {
	if word, does = ObjectiveOf(name); word != "" {
		return word, does
	}
	words := nameWords(name)
	for i, w := range words {
		for _, w := range []string{joined(words, i), withoutVersion(w)} {
			if means := programWords[w]; means != "" {
				word, does = w, means
			}
		}
	}
	return word, does
}

// onlyNames are words that stand for an objective in the name of a program, folder or class but mean something
// else in a key: rm is a command.
var onlyNames = []string{"contrastive", "rm", "rl", "orm", "distil", "sft", "pretrain", "pretraining", "clm", "mlm"}

// namesModel reports whether a word is a model's name, or part of one: gpt, bert, hubert.
func namesModel(word string) bool {
	return len(word) > 2 && slices.ContainsFunc(family.Known(), func(t string) bool { return strings.HasPrefix(t, word) || strings.HasSuffix(word, t) })
}

// ObjectiveOf returns the word of a name that stands for an objective, and what that objective does; does is ""
// for a loss over tokens, and word is "" if the name contains no such word. The last word takes precedence, but a
// loss over tokens only counts if there is no other objective: sft_then_dpo. Words after "for" describe a later
// run: sft_for_grpo.
func ObjectiveOf(name string) (word, does string) {
	words := nameWords(name)
	if i := slices.Index(words, "for"); i > 0 {
		words = words[:i]
	}
	for i, w := range words {
		for _, w := range []string{joined(words, i), withoutVersion(w)} {
			means, known := wordsOf[w]
			if w == "distil" && i+1 < len(words) && namesModel(withoutVersion(words[i+1])) {
				known = false
			}
			if !known && isPolicy(w) {
				means, known = comparesAnswers, true
			}
			if known && (means != "" || does == "") {
				word, does = w, means
			}
		}
	}
	return word, does
}

// isPolicy reports whether a word looks like one of the many names for policy optimization, such as sdpo and
// gspo.
func isPolicy(word string) bool {
	return len(word) >= 3 && len(word) <= 5 && strings.HasSuffix(word, "po") && !slices.Contains([]string{"repo", "expo", "hypo", "typo", "tempo", "topo", "depo", "capo", "hippo", "campo"}, word)
}

// joined returns a word joined to the one before it, such as Sim and PO.
func joined(words []string, i int) string {
	if i == 0 {
		return ""
	}
	return withoutVersion(words[i-1] + words[i])
}

// nameWords returns the words of a name in lower case, split at non-letters and capital letters.
func nameWords(name string) []string {
	var out []string
	begin := 0
	end := func(at int) {
		if at > begin {
			out = append(out, strings.ToLower(name[begin:at]))
		}
		begin = at
	}
	for i := range len(name) {
		switch {
		case !isNameByte(name[i]):
			end(i)
			begin = i + 1
		case i > begin && isUpper(name[i]) && (!isUpper(name[i-1]) || i+1 < len(name) && isLower(name[i+1])):
			end(i)
		}
	}
	end(len(name))
	return out
}

// withoutVersion removes a version from the end of a word: PPOv2 becomes PPO.
func withoutVersion(word string) string {
	short := strings.TrimRight(word, "0123456789")
	if short == "" {
		return word
	}
	if v, ok := strings.CutSuffix(short, "v"); ok && len(short) < len(word) && v != "" {
		return v
	}
	return short
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }

func isLower(c byte) bool { return c >= 'a' && c <= 'z' }

func isNameByte(c byte) bool { return isUpper(c) || isLower(c) || c >= '0' && c <= '9' }

// ObjectiveOfKey returns what a run with a key of this name, in lower case, does; "" if the name does not show it. Keys
// for files, columns or logging are ignored.
func ObjectiveOfKey(name string) string {
	words := nameWords(name)
	if slices.ContainsFunc(words, func(w string) bool { return slices.Contains(ofData, w) }) {
		return ""
	}
	for _, begin := range otherModels {
		if strings.HasPrefix(name, begin.File) || name == strings.TrimSuffix(begin.File, "_") {
			return begin.Means
		}
	}
	does := ""
	for _, w := range words {
		if means := wordsOf[w]; means != "" && !slices.Contains(onlyNames, w) {
			does = means
		}
	}
	return does
}

// ofData are words in keys for where data comes from or goes to.
var ofData = []string{"dataset", "datasets", "data", "column", "columns", "field", "key", "file", "files", "dir", "folder", "prefix", "prefetch", "log", "logging", "metric", "metrics"}

// otherModels are prefixes of keys for additional models and sampled answers.
var otherModels = []Term{
	{"ref_model_", comparesAnswers}, {"reference_model_", comparesAnswers}, {"ref_policy_", comparesAnswers},
	{"reward_func", samplesFirst}, {"reward_weights_", samplesFirst}, {"pref_", comparesPairs}, {"train_group_size_", comparesTexts}, {"passage_", comparesTexts}, {"query_max_len_", comparesTexts},
	{"num_generations_", samplesFirst}, {"actor_model_", samplesFirst}, {"policy_model_", samplesFirst},
	{"pooling_mode_", comparesTexts}, {"pre_seq_len_", ownPrefix},
	{"vision_tower_", ownImages}, {"mm_projector_", ownImages}, {"tune_mm_mlp_adapter_", ownImages}, {"pretrain_mm_mlp_adapter_", ownImages}, {"mm_vision_", ownImages},
}

// NamesData reports whether a section's name says that its keys are about data: dataset_mixer has the names of data sets.
func NamesData(section string) bool {
	return slices.ContainsFunc(nameWords(section), func(w string) bool { return w == "dataset" || w == "datasets" || w == "data" })
}

// decides are words in keys whose values name the objective; ofOthers are words in keys whose values name other
// things.
var (
	decides = []string{
		"objective", "loss", "algorithm", "algo", "method", "stage", "task", "trainer", "recipe", "rl", "rlhf", "type", "mode", "component", "target", "class", "path", "name", "fn",
	}
	ofOthers = []string{
		"model", "dataset", "data", "run", "project", "experiment", "exp", "group", "hub", "repo", "tokenizer", "tag", "wandb", "logger", "output", "optimizer", "scheduler", "job", "save", "file", "collator",
		"ckpt", "checkpoint", "teacher", "student", "weights", "resume", "load",
	}
)

// ObjectiveOfValue returns what a run does, judging by a key's value; "" if it does not show it. Only keys that name a
// method count, because a model or a folder may be called dpo too. The key includes its section, as in
// loss._component_.
func ObjectiveOfValue(key, value string) (does string) {
	if !NamesMethod(key) || strings.ContainsAny(value, " /\n") {
		return ""
	}
	_, does = ObjectiveOf(value)
	return does
}

// NamesMethod reports whether the value of a key, given with its section, names a method rather than a model
// or a file.
func NamesMethod(key string) bool {
	words := nameWords(key)
	if len(words) == 0 || slices.ContainsFunc(words, func(w string) bool { return slices.Contains(ofOthers, w) }) {
		return false
	}
	last := words[len(words)-1]
	return slices.Contains(decides, last) && (len(words) > 1 || last != "name" && last != "path")
}

// otherHeads are the values of a task or loss for which a model gets a head other than a language model's.
var otherHeads = []Term{
	{"seq_cls", Classifies}, {"sequence_classification", Classifies}, {"text_classification", Classifies}, {"regression", Classifies},
	{"token_cls", "Classifies tokens"}, {"token_classification", "classifies tokens"}, {"ner", "classifies tokens"},
	{"text_regression", Classifies}, {"extractive_qa", "marks answers in a text"}, {"extractive_question_answering", "marks answers in a text"},
	{"question_ans", "marks answers in a text"}, {"question_answering", "marks answers in a text"},
	{"multiple_choice", "runs every choice of a sample"}, {"feature_extraction", comparesTexts},
	{"embedding", comparesTexts}, {"embeddings", comparesTexts}, {"infonce", comparesTexts}, {"contrastive", comparesTexts},
	{"reranker", comparesTexts}, {"generative_reranker", comparesTexts}, {"pointwise_reranker", comparesTexts}, {"listwise_reranker", comparesTexts},
}

// HeadOfTask returns what a model's head does for the task that a key names; "" for a language model's head.
func HeadOfTask(key, value string) string {
	switch words := nameWords(key); {
	case len(words) == 0, slices.ContainsFunc(words, func(w string) bool { return slices.Contains(ofOthers, w) }):
		return ""
	case !slices.Contains([]string{"task", "type", "loss"}, words[len(words)-1]) || len(words) == 1 && words[0] == "type":
		return ""
	}
	does, _ := Meaning(otherHeads, strings.ReplaceAll(strings.ToLower(value), "-", "_"))
	return does
}
