// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"snug/internal/files"
)

// A file of lengths has one sample per line: a number of tokens, or a JSON object with that number or with
// the tokens themselves. A JSON list of numbers is read as well.

// Limits of a file of lengths.
const (
	maxLengthBytes = 4 << 30
	maxLengthLine  = 16 << 20
)

// lengthKeys are the fields that hold a number of tokens, tokenKeys those that hold
// the tokens, and textKeys those that hold text.
var (
	lengthKeys = []string{"length", "len", "num_tokens", "n_tokens", "token_count", "tokens_count", "seq_len"}
	tokenKeys  = []string{"input_ids", "tokens", "token_ids"}
	textKeys   = []string{"text", "messages", "conversations", "prompt", "instruction", "content"}
)

// readLengths reads the lengths from a file, if they are in one.
func (s *Setup) readLengths(from Source) error {
	if s.Lengths == nil || s.Lengths.file == "" {
		return nil
	}
	path := s.Lengths.file
	if from.Open == nil {
		return Wrong("{lengths} %s is a file, but files cannot be read here; give the lengths themselves", path)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(from.Base, path)
	}
	f, err := from.Open(path)
	if err != nil {
		return Wrong("{lengths}: reading %s: %v", s.Lengths.file, reason(err))
	}
	defer f.Close()
	s.Lengths.Samples, err = samplesIn(f)
	if err != nil {
		return Wrong("{lengths} %s: %v", s.Lengths.file, err)
	}
	return nil
}

// samplesIn returns the lengths in a file.
func samplesIn(r io.Reader) ([]int, error) {
	in := bufio.NewScanner(files.Limit(r, maxLengthBytes))
	in.Buffer(make([]byte, 0, 64<<10), maxLengthLine)
	var out []int
	for line := 1; in.Scan(); line++ {
		text := bytes.TrimSpace(bytes.TrimPrefix(in.Bytes(), []byte("\ufeff")))
		if len(text) == 0 {
			continue
		}
		some, err := samplesOf(text)
		if err != nil {
			return nil, Wrong("line %d %v", line, err)
		}
		if out = append(out, some...); len(out) > maxSamples {
			return nil, Wrong("it has more than the %d samples that are read; give a part of them", maxSamples)
		}
	}
	switch err := in.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, Wrong("it has a line of more than %d bytes; write one sample per line", maxLengthLine)
	case err != nil:
		return nil, err
	case len(out) == 0:
		return nil, errors.New("it contains no lengths; write one number of tokens per line, or JSON lines with length or input_ids")
	}
	return out, nil
}

// samplesOf returns the lengths in a line: one, or several if it is a list.
func samplesOf(text []byte) ([]int, error) {
	if n, err := strconv.Atoi(string(text)); err == nil {
		return checkedLength(float64(n))
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, errors.New("is neither a number nor JSON")
	}
	switch v := v.(type) {
	case float64:
		return checkedLength(v)
	case []any:
		var out []int
		for _, x := range v {
			f, _ := x.(float64)
			n, err := checkedLength(f)
			if err != nil {
				return nil, err
			}
			out = append(out, n...)
		}
		return out, nil
	case map[string]any:
		return sampleOf(v)
	}
	return nil, errors.New("holds no number of tokens")
}

// checkedLength returns a length if it is valid.
func checkedLength(f float64) ([]int, error) {
	if f != math.Trunc(f) || f < 1 || f > maxSeq {
		return nil, Wrong("has the length %s; it must be a whole number from 1 to %d", strconv.FormatFloat(f, 'g', -1, 64), maxSeq)
	}
	return []int{int(f)}, nil
}

// sampleOf returns the length of the sample in a JSON object.
func sampleOf(v map[string]any) ([]int, error) {
	for _, key := range lengthKeys {
		if f, ok := v[key].(float64); ok {
			return checkedLength(f)
		}
	}
	for _, key := range tokenKeys {
		if list, ok := v[key].([]any); ok {
			return checkedLength(float64(len(list)))
		}
	}
	for _, key := range textKeys {
		if v[key] != nil {
			return nil, Wrong("holds text (%s), and how many tokens that is depends on the tokenizer; write a file of their numbers, such as len(tokenizer(text).input_ids), one per line", key)
		}
	}
	return nil, Wrong("has no field with its length; known: %s", strings.Join(append(lengthKeys[:len(lengthKeys):len(lengthKeys)], tokenKeys...), ", "))
}
