// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// pickled maps the beginnings of {'vocab_size': n, 'itos': ...}, as written by Python's pickle protocols, to
// n.
var pickled = map[string]int{
	"\x80\x02}q\x00(X\n\x00\x00\x00vocab_sizeq\x01KAX\x04\x00\x00\x00itosq\x02":                            65,
	"\x80\x03}q\x00(X\n\x00\x00\x00vocab_sizeq\x01M,\x01X\x04\x00\x00\x00itosq\x02":                        300,
	"\x80\x04\x95$\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\nvocab_size\x94KA\x8c\x04itos\x94":                65,
	"\x80\x05\x95'\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\nvocab_size\x94J\xb5\x87\x01\x00\x8c\x04itos\x94": 100277,
	"\x80\x04\x95$\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\nvocab_size\x94J\xff\xff\xff\xff":                 0,
	"\x80\x04\x95$\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\nvocab_size\x94\x8c\x0265":                        0,
	"\x80\x04}\x94\x8c\nvocab_size\x94M,":                                                                  0, "vocab_size": 0, "vocab_sizeq": 0, "": 0, "(dp0\nVvocab_size\np1\nI65\n": 0,
}

func TestPickledVocabulary(t *testing.T) {
	for data, want := range pickled {
		if got := pickledVocabulary([]byte(data)); got != want {
			t.Errorf("%q: %d, want %d", data, got, want)
		}
	}
}

func FuzzPickledVocabulary(f *testing.F) {
	for data := range pickled {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if n := pickledVocabulary(data); n < 0 {
			t.Errorf("%d", n)
		}
	})
}

// TestOtherSizes checks that a file like nanoGPT's with model sizes under other names is refused.
func TestOtherSizes(t *testing.T) {
	const file = "init_from = 'scratch'\nbatch_size = 4\nmax_seq_len = 64\ndim = 64\nn_layers = 2\nn_heads = 2\n"
	r := opened(t, fstest.MapFS{"train.py": {Data: []byte(file)}})
	if got := r.Missing(); len(got) != 1 || !strings.HasPrefix(got[0].Say, "train.py:4: dim and n_layers are the sizes of a model that the program builds itself") {
		t.Errorf("%+v", got)
	}
}

// TestOwnTokens checks where the vocabulary size of a model from scratch comes from, and the warning if it is
// unknown.
func TestOwnTokens(t *testing.T) {
	const meta = "\x80\x04\x95$\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\nvocab_size\x94K\x60."
	for name, x := range map[string]struct {
		train, meta string
		tokens      float64
		warnings    []string
	}{
		"their own":  {"dataset = 'mine'\n", meta, 96, nil},
		"known":      {"dataset = 'shakespeare_char'\n", "", 65, nil},
		"none":       {"dataset = 'mine'\n", "", 50304, nil},
		"unreadable": {"dataset = 'mine'\n", "no pickle", 50304, []string{"data/mine/meta.pkl: no vocab_size was found; a vocabulary of 50304 tokens is assumed"}},
		"gpt2":       {"dataset = 'mine'\ninit_from = 'gpt2'\n", "no pickle", 50257, nil},
		"elsewhere":  {"dataset = '../../etc'\n", "", 50304, nil},
	} {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{"train.py": {Data: []byte("batch_size = 4\nblock_size = 64\nn_layer = 2\nn_head = 2\nn_embd = 64\ndtype = 'bfloat16'\ncompile = False\n" + x.train)}}
			if x.meta != "" {
				files["data/mine/meta.pkl"] = &fstest.MapFile{Data: []byte(x.meta)}
			}
			p := opened(t, files)
			model, _ := p.Fields()["model"].(map[string]any)
			config, _ := model["config"].(map[string]any)
			if config["vocab_size"] != x.tokens {
				t.Errorf("%v tokens, want %v", config["vocab_size"], x.tokens)
			}
			if diff := cmp.Diff(x.warnings, p.Warnings(p.Fields())); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}
