// SPDX-License-Identifier: Apache-2.0

// Package tokens counts the tokens in texts exactly as Hugging Face's tokenizers library does with a tokenizer.json.
// It supports byte-level BPE (GPT-2, Llama 3, Qwen), BPE with metaspaces and byte fallback (Llama 2, Mistral, Gemma),
// WordPiece (BERT), Unigram (T5, XLM-R) and WordLevel. It refuses everything else by name, so every count is exact.
//
// A text passes through the same stages as in the library (tokenizers 0.23): added tokens are cut out, the rest is
// normalized and split into words, and the model turns each word into tokens. The post-processor adds its special
// tokens.
package tokens

import (
	"encoding/json"
	"fmt"
	"io"

	"snug/internal/files"
)

// maxFile is the maximum size of a tokenizer file. The largest in use are 40 MB.
const maxFile = 256 << 20

// Counter counts tokens. It remembers words that it has seen, so it must not be used concurrently.
type Counter struct {
	raw, normalized added // added tokens, found before and after the text is normalized
	normalize       normalizer
	split           splitter
	model           model
	specials        int
	seen            map[string]int
}

// model is the kind of tokenizer; count returns the number of tokens in a word.
type model interface{ count(word string) int }

// document is a tokenizer.json.
type document struct {
	Added         []addedToken    `json:"added_tokens"`
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	Model         json.RawMessage `json:"model"`
	PostProcessor json.RawMessage `json:"post_processor"`
}

// Read reads a tokenizer.json.
func Read(r io.Reader) (*Counter, error) {
	data, err := files.ReadAll(r, maxFile)
	if err != nil {
		return nil, err
	}
	var d document
	if err := json.Unmarshal(data, &d); err != nil || d.Model == nil {
		return nil, fmt.Errorf("it is not a tokenizer.json from Hugging Face's tokenizers: it has no model")
	}
	return d.counter()
}

func (d *document) counter() (c *Counter, err error) {
	c = &Counter{seen: map[string]int{}}
	if c.model, err = readModel(d.Model); err != nil {
		return nil, err
	}
	if c.normalize, err = readNormalizer(d.Normalizer); err != nil {
		return nil, err
	}
	if c.split, err = readSplitter(d.PreTokenizer); err != nil {
		return nil, err
	}
	if c.specials, err = readSpecials(d.PostProcessor); err != nil {
		return nil, err
	}
	for _, t := range d.Added {
		if t.Content == "" {
			continue
		}
		if !t.Normalized {
			c.raw.add(t.Content, t)
			continue
		}
		c.normalized.add(c.normalize.apply(t.Content), t)
	}
	return c, nil
}

// Count returns the number of tokens in a text, including the special tokens around it.
func (c *Counter) Count(text string) int { return c.CountPlain(text) + c.specials }

// Specials returns how many tokens are added around a text.
func (c *Counter) Specials() int { return c.specials }

// CountPlain returns Count without the special tokens around the text.
func (c *Counter) CountPlain(text string) (n int) {
	c.raw.cut(text, func(part string, at int, token bool) {
		if token {
			n++
			return
		}
		n += c.rest(part, at == 0)
	})
	return n
}

// rest counts the tokens of a part between added tokens.
func (c *Counter) rest(part string, first bool) (n int) {
	c.normalized.cut(c.normalize.apply(part), func(part string, at int, token bool) {
		if token {
			n++
			return
		}
		for _, word := range c.split.split([]piece{{part, first && at == 0}}) {
			if word.text != "" {
				n += c.word(word.text)
			}
		}
	})
	return n
}

// Limits on the words that a Counter remembers.
const (
	maxSeen     = 1 << 16
	maxSeenWord = 64
)

func (c *Counter) word(text string) int {
	if len(text) > maxSeenWord {
		return c.model.count(text)
	}
	n, ok := c.seen[text]
	if !ok {
		n = c.model.count(text)
		if len(c.seen) < maxSeen {
			c.seen[text] = n
		}
	}
	return n
}

// kindOf returns the type of a part of the file, or "" if the file has no such part.
func kindOf(raw json.RawMessage) (string, error) {
	var v *struct{ Type string }
	if len(raw) == 0 {
		return "", nil
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return "", fmt.Errorf("one of its parts is not an object with a type: %.60s", raw)
	}
	if v == nil {
		return "", nil
	}
	return v.Type, nil
}

// decode reads a part of the file.
func decode(raw json.RawMessage, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("one of its parts cannot be read (%w): %.60s", err, raw)
	}
	return nil
}

// refused returns the error for an unsupported part.
func refused(what, kind string) error {
	return fmt.Errorf("its %s %s is not supported, so tokens cannot be counted exactly; use a file with the token count of each sample instead, one per line", what, kind)
}
