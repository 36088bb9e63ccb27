// SPDX-License-Identifier: Apache-2.0

package tokens

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// measured contains texts and the library's token count for each, by tokenizer.
type measured struct {
	Texts  []string         `json:"texts"`
	Counts map[string][]int `json:"counts"`
}

func readMeasured(t testing.TB, folder string) (m measured) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, "counts.json"))
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil || len(m.Counts) < 20 || len(m.Texts) < 300 {
		t.Fatalf("%d tokenizers, %d texts, %v", len(m.Counts), len(m.Texts), err)
	}
	return m
}

func readCounter(t testing.TB, path string) *Counter {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCounts compares every kind of tokenizer with Hugging Face's library: all counts must be equal.
func TestCounts(t *testing.T) {
	compare(t, "testdata")
}

func compare(t *testing.T, folder string) {
	t.Helper()
	m := readMeasured(t, folder)
	for name, counts := range m.Counts {
		c := readCounter(t, filepath.Join(folder, name+".json"))
		wrong := 0
		for i, want := range counts {
			if got := c.Count(m.Texts[i]); got != want {
				if wrong++; wrong <= 3 {
					t.Errorf("%s: %d tokens, the library makes %d of %q", name, got, want, m.Texts[i])
				}
			}
		}
		if wrong > 3 {
			t.Errorf("%s: %d of %d texts differ", name, wrong, len(counts))
		}
	}
}

// TestWellKnown compares matching patterns by hand with matching their alternatives one by one.
func TestWellKnown(t *testing.T) {
	m := readMeasured(t, "testdata")
	for expr, quick := range wellKnown {
		slow, err := compile("(?:)" + expr) // the same expression, but not recognized as well-known
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range m.Texts {
			for at := range text {
				if got, want := quick(text, at), slow(text, at); got != want {
					t.Fatalf("%s at %d of %q: %d, want %d", expr, at, text, got, want)
				}
			}
		}
	}
}

func TestRefused(t *testing.T) {
	for name, test := range map[string]struct{ file, want string }{
		"no JSON":        {"\x00\x01", "not a tokenizer.json"},
		"no model":       {`{"version": "1.0"}`, "not a tokenizer.json"},
		"model":          {`{"model": {"type": "Magic"}}`, "model Magic is not supported"},
		"normalizer":     {`{"model": {"type": "WordLevel"}, "normalizer": {"type": "Magic"}}`, "normalizer Magic is not supported"},
		"pre-tokenizer":  {`{"model": {"type": "WordLevel"}, "pre_tokenizer": {"type": "UnicodeScripts"}}`, "pre-tokenizer UnicodeScripts"},
		"pattern":        {`{"model": {"type": "WordLevel"}, "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "a(?=b)"}, "behavior": "Isolated"}}`, "pattern a(?=b)"},
		"post-processor": {`{"model": {"type": "WordLevel"}, "post_processor": {"type": "Magic"}}`, "post-processor Magic"},
		"merge":          {`{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}}`, "not both among its tokens"},
		"charsmap":       {`{"model": {"type": "WordLevel"}, "normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}}`, "damaged"},
	} {
		if _, err := Read(strings.NewReader(test.file)); err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLongWords counts a text without spaces. The number of operations is linear in its length: with a million
// characters, quadratic time would take hours.
func TestLongWords(t *testing.T) {
	for _, name := range []string{"llama2", "gpt2", "unigram", "bert_uncased", "deepseek", "xlm"} {
		c := readCounter(t, "testdata/"+name+".json")
		if n := c.Count(strings.Repeat("abc1", 1<<18)); n < 1 {
			t.Errorf("%s: %d tokens", name, n)
		}
	}
}

// FuzzRead reads damaged files and counts with those that can be read.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"wordlevel", "bert_cased", "t5", "gpt2"} {
		data, err := os.ReadFile("testdata/" + name + ".json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data), "a b<mask> c")
	}
	f.Fuzz(func(_ *testing.T, file, text string) {
		if c, err := Read(strings.NewReader(file)); err == nil {
			c.Count(text)
		}
	})
}

func BenchmarkCount(b *testing.B) {
	m := readMeasured(b, "testdata")
	text := strings.Join(m.Texts, "\n")
	for _, name := range []string{"gpt2", "llama3", "deepseek", "llama2", "bert_uncased", "t5"} {
		b.Run(name, func(b *testing.B) {
			c := readCounter(b, "testdata/"+name+".json")
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				c.Count(text)
			}
		})
	}
}

// TestCountsLive builds the tokenizers again with the library in SNUG_TEST_PYTHON, and compares.
func TestCountsLive(t *testing.T) {
	python := os.Getenv("SNUG_TEST_PYTHON")
	if python == "" || exec.Command(python, "-c", "import tokenizers").Run() != nil {
		t.Skip("SNUG_TEST_PYTHON names no Python with tokenizers")
	}
	folder := t.TempDir()
	if out, err := exec.Command(python, "testdata/make.py", folder).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	compare(t, folder)
}
