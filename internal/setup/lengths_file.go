// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"snug/internal/files"
	"snug/internal/tokens"
)

// A file of lengths has one sample per line: a number of tokens, or a JSON object with that number, with the tokens
// themselves, or with texts, whose tokens are counted with a tokenizer. JSON lists, CSV files, and the index files of
// NumPy and Megatron are read as well. See lengths_lines.go, lengths_csv.go, lengths_texts.go and lengths_index.go.

// Limits on a file of lengths.
const (
	maxLengthBytes = 4 << 30
	maxLengthLine  = 16 << 20
	maxCounted     = 16 << 20 // bytes of text in which tokens are counted; further samples are skipped
)

// errNoTokenizer means that a file contains texts but no tokenizer was given.
var errNoTokenizer = errors.New("so its length depends on the tokenizer")

// dataFile is a file of samples that is being read.
type dataFile struct {
	name    string
	count   *tokens.Counter // nil if no tokenizer is given
	out     []int
	counted int             // bytes of text counted so far
	full    bool            // enough text was counted
	notes   map[string]bool // notes on tokens that are not counted
}

// readLengths reads the lengths from a file, if they are in one.
func (s *Setup) readLengths(from Source) error {
	if s.Lengths == nil || s.Lengths.file == "" {
		if s.Tokenizer != "" {
			return Wrong("{tokenizer} %s has no effect without a file of texts in {lengths}; remove it", s.Tokenizer)
		}
		return nil
	}
	d := &dataFile{name: s.Lengths.file, notes: map[string]bool{}}
	if err := d.tokenizer(s.Tokenizer, from); err != nil {
		return err
	}
	f, err := openNamed(from, "lengths", s.Lengths.file)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := d.read(f); errors.Is(err, errNoTokenizer) {
		return Wrong("{lengths} %s: %v; give its tokenizer.json with {tokenizer}", s.Lengths.file, err)
	} else if err != nil {
		return Wrong("{lengths} %s: %v", s.Lengths.file, err)
	}
	if d.count != nil && d.counted == 0 {
		return Wrong("{tokenizer} %s has no effect: {lengths} %s contains no texts; remove {tokenizer}", s.Tokenizer, s.Lengths.file)
	}
	s.Lengths.Samples = d.out
	for note := range d.notes {
		s.Lengths.notes = append(s.Lengths.notes, s.Lengths.file+": "+note)
	}
	slices.Sort(s.Lengths.notes)
	return nil
}

// openNamed opens a file named in a field.
func openNamed(from Source, field, name string) (io.ReadCloser, error) {
	if from.Open == nil {
		return nil, Wrong("{"+field+"} %s is a file, but files cannot be read here", name)
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(from.Base, path)
	}
	f, err := from.Open(path)
	if err != nil {
		return nil, Wrong("{"+field+"}: reading %s: %v", name, reason(err))
	}
	return f, nil
}

// tokenizer reads the tokenizer, if one is given as a file or its folder.
func (d *dataFile) tokenizer(name string, from Source) error {
	if name == "" {
		return nil
	}
	f, err := openNamed(from, "tokenizer", name)
	if err != nil {
		return err
	}
	defer f.Close()
	if d.count, err = tokens.Read(f); err != nil {
		return Wrong("{tokenizer} %s: %v", name, err)
	}
	return nil
}

// read reads the samples in any of the formats.
func (d *dataFile) read(f io.Reader) error {
	in := bufio.NewReaderSize(files.Limit(f, maxLengthBytes), 64<<10)
	head, err := in.Peek(4096)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return err
	}
	switch extension := strings.ToLower(filepath.Ext(d.name)); {
	case bytes.HasPrefix(head, []byte(numpyMagic)):
		err = d.numpy(in)
	case bytes.HasPrefix(head, []byte(megatronMagic)):
		err = d.megatron(in)
	case bytes.IndexByte(head, 0) >= 0:
		return errors.New("it is not text; give one length per line, JSON lines, a CSV, a .npy of whole numbers or Megatron's .idx")
	case extension == ".csv":
		err = d.csv(in, ',')
	case extension == ".tsv":
		err = d.csv(in, '\t')
	case startsList(head):
		err = d.list(in)
	default:
		err = d.lines(in, extension)
	}
	if err == nil && len(d.out) == 0 {
		err = errors.New("it contains no lengths; write one number of tokens per line, or JSON lines with length, input_ids or text")
	}
	return err
}

// add adds the length of a sample.
func (d *dataFile) add(n int) error {
	if d.out = append(d.out, n); len(d.out) > maxSamples {
		return Wrong("is beyond the %d samples that are read; give fewer", maxSamples)
	}
	return nil
}

// text counts the tokens in one sample's texts. Empty texts are not a sample.
func (d *dataFile) text(key string, parts ...string) error {
	if d.count == nil {
		return fmt.Errorf("contains text (%s), %w", key, errNoTokenizer)
	}
	n := d.count.Specials()
	for _, p := range parts {
		n += d.count.CountPlain(p)
		d.counted += len(p)
	}
	if d.counted++; d.counted > maxCounted {
		d.full = true
		d.note(fmt.Sprintf("tokens were counted in its first %d MiB of text; the rest may have longer samples", maxCounted>>20))
	}
	if n == 0 {
		return nil
	}
	if n > maxSeq {
		return Wrong("has a text of %d tokens; a sample has at most %d", n, maxSeq)
	}
	return d.add(n)
}

func (d *dataFile) note(text string) { d.notes[text] = true }
