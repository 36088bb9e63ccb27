// SPDX-License-Identifier: Apache-2.0

package script_test

import (
	"strings"
	"testing"
)

// TestTables checks that the number of texts in a sample comes from what is known about the dataset.
func TestTables(t *testing.T) {
	train := "SentenceTransformerTrainer(model=model, train_dataset=data, loss=losses.MultipleNegativesRankingLoss(model)).train()\n"
	fit := "model.fit(train_objectives=[(DataLoader(data, batch_size=64), losses.MultipleNegativesRankingLoss(model))])\n"
	load := "from datasets import load_dataset\nfrom sentence_transformers.util import mine_hard_negatives\n"
	pairs := peakOf(t, sentences+load+"data = load_dataset('sentence-transformers/gooaq', split='train')\n"+train)
	for name, x := range map[string]struct {
		script string
		more   bool
	}{
		"a part":    {load + "data = load_dataset('sentence-transformers/all-nli', 'pair').shuffle()['train'].select(range(9))\n" + train, false},
		"triplets":  {load + "data = load_dataset('sentence-transformers/all-nli', 'triplet', split='train').train_test_split(0.1)['train']\n" + train, true},
		"removed":   {load + "data = load_dataset('sentence-transformers/all-nli', 'triplet', split='train').remove_columns(['negative'])\n" + train, false},
		"mined":     {load + "data = mine_hard_negatives(mine, model, num_negatives=1, output_format='n-tuple')\n" + train, true},
		"mapped":    {load + "data = load_dataset('sentence-transformers/gooaq', split='train').map(lambda b: {'negative': b['answer']})\n" + train, true},
		"a dict":    {load + "data = {'a': load_dataset('sentence-transformers/gooaq'), 'b': load_dataset('sentence-transformers/all-nli', 'triplet')}\n" + train, true},
		"own table": {"from datasets import Dataset\ndata = Dataset.from_dict({'a': ['x'], 'b': ['y'], 'c': ['z']})\n" + train, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := peakOf(t, sentences+x.script); (got > pairs+pairs/10) != x.more {
				t.Errorf("%d bytes, and %d for pairs", got, pairs)
			}
		})
	}
	examples := "from sentence_transformers import InputExample\nfrom torch.utils.data import DataLoader\ndata = []\nfor line in open('texts.txt'):\n    data.append(InputExample(texts=TEXTS))\n"
	two := peakOf(t, sentences+strings.Replace(examples, "TEXTS", "[line, line]", 1)+fit)
	if three := peakOf(t, sentences+strings.Replace(examples, "TEXTS", "[line, line, line]", 1)+fit); three <= two+two/10 {
		t.Errorf("three texts take %d bytes, two %d", three, two)
	}
}

// peakOf returns the peak of a script.
func peakOf(t *testing.T, script string) uint64 {
	t.Helper()
	res, _, err := follow(t, script)
	if err != nil {
		t.Fatal(err)
	}
	return peak(res.World.Trace)
}
