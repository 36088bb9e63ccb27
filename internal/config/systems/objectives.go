// SPDX-License-Identifier: Apache-2.0

package systems

// Descriptions of other objectives. Each completes a sentence that begins with the objective's name.
const (
	comparesPairs   = "trains on pairs of answers, with twice the rows and usually a frozen reference model"
	comparesAnswers = "compares answers, usually with a frozen reference model"
	weighsAnswers   = "trains on rated answers, with a frozen reference model"
	samplesFirst    = "generates answers before it trains on them, which takes a cache of keys and values, and often a reference model"
	scoresAnswers   = "trains a head that scores answers, two for each sample"
	distils         = "trains with a teacher model"
	comparesTexts   = "compares texts by their embeddings, several for each sample"
	withoutBackward = "estimates gradients from forward passes, without a backward pass"
	denoises        = "trains a diffusion model"
	intervenes      = "trains interventions in a frozen model's hidden states"
	ownPrefix       = "trains a prefix of keys and values with the program's own code"
	ownImages       = "adds an image encoder and a projection with the program's own code"
	notTokens       = "is not an objective that snug knows"
)

// Classifies is what a classification head does.
const Classifies = "classifies samples"

// objectives are the names of objectives in files and on command lines.
var objectives = []Term{
	{"sft", ""}, {"pt", ""}, {"pretrain", ""}, {"", ""},
	{"dpo", comparesPairs}, {"ipo", comparesPairs}, {"orpo", comparesPairs}, {"simpo", comparesPairs}, {"cpo", comparesPairs}, {"tpo", comparesPairs},
	{"kto", weighsAnswers}, {"bco", weighsAnswers},
	{"rm", scoresAnswers}, {"reward", scoresAnswers}, {"prm", scoresAnswers},
	{"ppo", samplesFirst}, {"grpo", samplesFirst}, {"gdpo", samplesFirst}, {"rloo", samplesFirst}, {"online_dpo", samplesFirst}, {"ebft", samplesFirst},
	{"gkd", distils}, {"distillation", distils},
}

// objective returns a key that names the training objective.
func objective(path, source string) Key {
	return Key{Setting: "refused", Path: path, Kind: Word, Words: objectives, Means: notTokens, Source: source}
}

// stageOfAny returns a key that names the objective in some programs and something else in others: a ZeRO
// stage, or part of a curriculum.
func stageOfAny(path, source string) Key {
	k := objective(path, source)
	k.Means = ""
	return k
}

// NamesObjective reports whether the values of a key are names of objectives.
func (k *Key) NamesObjective() bool { return len(k.Words) > 0 && &k.Words[0] == &objectives[0] }
