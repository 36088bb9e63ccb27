// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// lengthKeys are the fields with a number of tokens, and tokenKeys the fields with the tokens themselves.
var (
	lengthKeys = []string{"length", "len", "num_tokens", "n_tokens", "token_count", "tokens_count", "seq_len"}
	tokenKeys  = []string{"input_ids", "tokens", "token_ids"}
)

// lines reads one sample per line.
func (d *dataFile) lines(r io.Reader, extension string) error {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 0, 64<<10), maxLengthLine)
	plain := extension == ".txt" && d.count != nil
	for line := 1; in.Scan() && !d.full; line++ {
		text := bytes.TrimPrefix(in.Bytes(), []byte("\ufeff"))
		var err error
		switch trimmed := bytes.TrimSpace(text); {
		case len(trimmed) == 0:
		case plain:
			err = d.text("a line", strings.ToValidUTF8(string(text), "\ufffd"))
		default:
			err = d.line(trimmed)
		}
		if err != nil {
			return fmt.Errorf("line %d %w", line, err)
		}
	}
	if errors.Is(in.Err(), bufio.ErrTooLong) {
		return Wrong("it has a line of more than %d bytes; write one sample per line", maxLengthLine)
	}
	return in.Err()
}

// line adds the sample in a line, which is a number or JSON.
func (d *dataFile) line(text []byte) error {
	if n, err := strconv.Atoi(string(text)); err == nil {
		return d.number(float64(n))
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		if d.count == nil {
			return fmt.Errorf("is neither a number nor JSON but may be text, %w", errNoTokenizer)
		}
		return errors.New("is neither a number nor JSON; the name of a plain text file must end in .txt")
	}
	return d.value(v)
}

// value adds a sample, or a list of samples.
func (d *dataFile) value(v any) error {
	switch v := v.(type) {
	case float64:
		return d.number(v)
	case string:
		return d.text("a string", v)
	case []any:
		for _, x := range v {
			if _, nested := x.([]any); nested {
				return errors.New("contains a list within a list")
			}
			if err := d.value(x); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		return d.object(v)
	}
	return errors.New("contains no number of tokens")
}

// number adds a sample given by its length.
func (d *dataFile) number(f float64) error {
	if f != math.Trunc(f) || f < 1 || f > maxSeq {
		return Wrong("has the length %s; it must be a whole number from 1 to %d", strconv.FormatFloat(f, 'g', -1, 64), maxSeq)
	}
	return d.add(int(f))
}

// object adds a sample given as an object with its length, its tokens, or its texts.
func (d *dataFile) object(v map[string]any) error {
	for _, key := range lengthKeys {
		if f, ok := v[key].(float64); ok {
			return d.number(f)
		}
	}
	for _, key := range tokenKeys {
		if list, ok := v[key].([]any); ok {
			return d.number(float64(len(list)))
		}
	}
	if key, parts := d.texts(v); key != "" {
		return d.text(key, parts...)
	}
	return Wrong("has no field with its length or its text; known: %s, %s, text, content, prompt, instruction, messages, conversations", strings.Join(lengthKeys, ", "), strings.Join(tokenKeys, ", "))
}

// startsList reports whether a file is a single JSON list, on one line or several.
func startsList(head []byte) bool {
	head = bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\ufeff")))
	if len(head) == 0 || head[0] != '[' {
		return false
	}
	first, _, whole := bytes.Cut(head, []byte("\n"))
	return !whole || !json.Valid(bytes.TrimSpace(first))
}

// list reads a JSON list, one element at a time.
func (d *dataFile) list(r *bufio.Reader) error {
	if head, _ := r.Peek(3); string(head) == "\ufeff" {
		_, _ = r.Discard(3)
	}
	limit := &elementLimit{r: r, most: maxLengthLine}
	in := json.NewDecoder(limit)
	if _, err := in.Token(); err != nil {
		return err
	}
	for i := 1; in.More() && !d.full; i++ {
		var v any
		if err := in.Decode(&v); err != nil {
			return fmt.Errorf("element %d cannot be read: %w", i, err)
		}
		if err := d.value(v); err != nil {
			return fmt.Errorf("element %d %w", i, err)
		}
		limit.most = in.InputOffset() + maxLengthLine
	}
	if d.full {
		return nil
	}
	if _, err := in.Token(); err != nil {
		return fmt.Errorf("its list does not end: %w", err)
	}
	return nil
}

// elementLimit is a reader that fails if an element of a list is too large to keep in memory.
type elementLimit struct {
	r    io.Reader
	at   int64
	most int64
}

// Read fails once the current element is too long. The decoder reads ahead, so the limit is twice maxLengthLine.
func (l *elementLimit) Read(p []byte) (int, error) {
	if l.at > l.most+maxLengthLine {
		return 0, Wrong("it has more than %d bytes", maxLengthLine)
	}
	n, err := l.r.Read(p)
	l.at += int64(n)
	return n, err
}
