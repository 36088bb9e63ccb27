// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// samplesOf decodes a run whose lengths come from a file with the given contents, with or without a tokenizer.
func samplesOf(name, contents, tokenizer string, more map[string]any) (*Setup, error) {
	fields := map[string]any{"model": map[string]any{"name": "gpt2"}, "batch": 4.0, "lengths": name}
	if tokenizer != "" {
		fields["tokenizer"] = tokenizer
	}
	for k, v := range more {
		fields[k] = v
	}
	open := func(path string) (io.ReadCloser, error) {
		switch filepath.Base(path) {
		case name:
			return io.NopCloser(strings.NewReader(contents)), nil
		case "missing.json":
			return nil, errors.New("no such file")
		}
		return os.Open("../tokens/testdata/" + path)
	}
	return Decode(fields, Source{Open: open})
}

// npy returns a .npy file of int32 values.
func npy(values ...byte) string {
	head := "{'descr': '<i4', 'fortran_order': False, 'shape': (" + string(rune('0'+len(values))) + ",), }\n"
	out := numpyMagic + "\x01\x00" + string(rune(len(head))) + "\x00" + head
	for _, v := range values {
		out += string([]byte{v, 0, 0, 0})
	}
	return out
}

func TestLengthFiles(t *testing.T) {
	idx := megatronMagic + "\x01\x00\x00\x00\x00\x00\x00\x00" + "\x04" + "\x02\x00\x00\x00\x00\x00\x00\x00" + "\x03\x00\x00\x00\x00\x00\x00\x00" + "\x05\x00\x00\x00" + "\x09\x00\x00\x00" + "rest"
	for name, test := range map[string]struct {
		file, contents string
		want           []int
	}{
		"numbers":      {"a.txt", "12\n90\n\n3\n", []int{12, 90, 3}},
		"lines":        {"a.jsonl", "{\"length\": 7}\n{\"input_ids\": [1, 2]}\n", []int{7, 2}},
		"list":         {"a.json", "[4, 5,\n 6]", []int{4, 5, 6}},
		"objects":      {"a.json", "[\n {\"length\": 8},\n {\"tokens\": [1]}\n]", []int{8, 1}},
		"lists":        {"a.jsonl", "[4, 5]\n[6]\n", []int{4, 5, 6}},
		"table":        {"a.csv", "id,length\nx,30\ny,40\n", []int{30, 40}},
		"tabs":         {"a.tsv", "num_tokens\tid\n31\tx\n", []int{31}},
		"numpy":        {"a.npy", npy(3, 5, 7), []int{3, 5, 7}},
		"megatron":     {"a.idx", idx, []int{5, 9}},
		"a byte order": {"a.json", "\ufeff[9, 8]", []int{9, 8}},
	} {
		s, err := samplesOf(test.file, test.contents, "", nil)
		if err != nil || !slices.Equal(s.Lengths.Samples, test.want) {
			t.Errorf("%s: %v, %v", name, s.Lengths, err)
		}
	}
}

// TestTextFiles counts words: wordlevel's tokenizer makes each word one token, and bert_cased's adds two more.
func TestTextFiles(t *testing.T) {
	for name, test := range map[string]struct {
		file, contents string
		want           []int
		note           string
	}{
		"plain":        {"a.txt", "1 1\n1\n", []int{4, 3}, ""},
		"text":         {"a.jsonl", `{"text": "1 1 1"}`, []int{5}, ""},
		"content":      {"a.jsonl", `{"content": "1"}`, []int{3}, ""},
		"a pair":       {"a.jsonl", `{"prompt": "1 ", "completion": "1"}`, []int{4}, ""},
		"instructions": {"a.json", "[{\"instruction\": \"1\", \"input\": \"\",\n\"output\": \"1 1\"}]", []int{5}, "a template"},
		"messages":     {"a.jsonl", `{"messages": [{"role": "user", "content": "1"}, {"content": [{"type": "text", "text": "1 1"}]}]}`, []int{5}, "chat template"},
		"ShareGPT":     {"a.jsonl", `{"conversations": [{"from": "human", "value": "1"}]}`, []int{3}, "chat template"},
		"table":        {"a.csv", "id,text\n1,\"1, 1\"\n", []int{5}, ""},
	} {
		s, err := samplesOf(test.file, test.contents, "bert_cased.json", nil)
		if err != nil || !slices.Equal(s.Lengths.Samples, test.want) {
			t.Errorf("%s: %v, want %v; %v", name, s.Lengths, test.want, err)
			continue
		}
		if notes := strings.Join(s.Lengths.Notes(), "; "); (notes != "") != (test.note != "") || !strings.Contains(notes, test.note) {
			t.Errorf("%s: notes %q, want %q", name, notes, test.note)
		}
	}
}

func TestBadLengthFiles(t *testing.T) {
	for name, test := range map[string]struct{ file, contents, tokenizer, want string }{
		"zero":           {"a.txt", "12\n0\n", "", "line 2 has the length 0; it must be a whole number from 1"},
		"negative":       {"a.txt", "-4\n", "", "line 1 has the length -4"},
		"a fraction":     {"a.jsonl", `{"length": 1.5}`, "", "line 1 has the length 1.5"},
		"too long":       {"a.txt", "12\n2000\n", "", "learned positions"},
		"binary":         {"a.bin", "\x00\x01\x02\xff", "", "it is not text"},
		"text":           {"a.jsonl", `{"text": "hello"}`, "", "depends on the tokenizer; give its tokenizer.json with tokenizer"},
		"prose":          {"a.txt", "hello world", "", "line 1 is neither a number nor JSON"},
		"empty":          {"a.txt", "\n\n", "", "it contains no lengths"},
		"no field":       {"a.jsonl", `{"label": 3}`, "", "has no field with its length or its text"},
		"cut numpy":      {"a.npy", npy(3, 5, 7)[:len(npy(3, 5, 7))-2], "", "it ends too early"},
		"float numpy":    {"a.npy", strings.Replace(npy(3), "<i4", "<f4", 1), "", "not a list of whole numbers"},
		"negative numpy": {"a.npy", strings.Replace(npy(3), "\x03\x00\x00\x00", "\xff\xff\xff\xff", 1), "", "element 0 has the length -1"},
		"cut megatron":   {"a.idx", megatronMagic + "\x01", "", "it ends too early"},
		"cut list":       {"a.json", "[1,\n2", "", "does not end"},
		"nested":         {"a.json", "[[[1]],\n2]", "", "a list within a list"},
		"no tokenizer":   {"a.txt", "x", "missing.json", "tokenizer: reading missing.json"},
		"no texts":       {"a.jsonl", `{"length": 3}`, "gpt2.json", "contains no texts; remove tokenizer"},
		"counts":         {"a.jsonl", `{"text": "x"}`, "counts.json", "it is not a tokenizer.json"},
	} {
		_, err := samplesOf(test.file, test.contents, test.tokenizer, nil)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// TestLengthsAreCut checks that seq truncates longer samples in a file, like a trainer's max_length.
func TestLengthsAreCut(t *testing.T) {
	s, err := samplesOf("a.txt", "12\n2000\n900\n", "", map[string]any{"seq": 512.0})
	if err != nil || s.Seq != 512 || slices.Max(slices.Concat(s.Tokens()...)) != 512 {
		t.Errorf("seq %d, %v", s.Seq, err)
	}
	if _, err := ragged(t, "uniform:1-50", map[string]any{"seq": 20.0}); err == nil {
		t.Error("a distribution and a length were both accepted")
	}
}

// TestOnlySoMuchIsCounted checks that texts beyond the limit are skipped, with a note.
func TestOnlySoMuchIsCounted(t *testing.T) {
	line := strings.Repeat("1 ", 1<<18) + "\n"
	s, err := samplesOf("a.txt", strings.Repeat(line, 60), "wordlevel.json", map[string]any{"seq": 512.0})
	if err != nil || len(s.Lengths.Samples) > 40 || len(s.Lengths.Notes()) != 1 {
		t.Errorf("%d samples, %v, %v", len(s.Lengths.Samples), s.Lengths.Notes(), err)
	}
}

// FuzzLengthsFile reads arbitrary data.
func FuzzLengthsFile(f *testing.F) {
	f.Add("a.csv", "id,length\nx,30\n")
	f.Add("a.json", "[1, {\"text\": \"x\"}]")
	f.Add("a.txt", "12\n{\"length\": 90}\n[4, 5]\n")
	f.Add("a.npy", npy(1, 2))
	f.Add("a.idx", megatronMagic+"\x01\x00\x00\x00\x00\x00\x00\x00\x04")
	f.Fuzz(func(t *testing.T, name, contents string) {
		d := &dataFile{name: name, notes: map[string]bool{}}
		if err := d.read(strings.NewReader(contents)); err == nil && (len(d.out) == 0 || slices.Min(d.out) < 1 || slices.Max(d.out) > maxSeq) {
			t.Errorf("%v was read", d.out)
		}
	})
}
