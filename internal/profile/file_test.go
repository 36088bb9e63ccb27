// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// saved returns a program as a file.
func saved(t testing.TB, p *Program) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestFileKeepsThePredictions(t *testing.T) {
	p := fitted(t, transformer(2), transformer(3))
	p.Card = "H200"
	file := saved(t, p)
	q, err := Read(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if q.Card != "H200" || q.Torch != p.Torch || q.Options != p.Options {
		t.Errorf("environment: got %v %v %v", q.Card, q.Torch, q.Options)
	}
	for _, batch := range []int64{1, 2, 3, 8, 64} {
		want, err := p.Predict(Point{"batch": batch})
		if err != nil {
			t.Fatal(err)
		}
		got, err := q.Predict(Point{"batch": batch})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("batch %d (-want +got):\n%s", batch, diff)
		}
	}
	if again := saved(t, q); !bytes.Equal(file, again) {
		t.Error("the file differs after reading and writing it")
	}
}

func TestFileThatIsNotOne(t *testing.T) {
	file := saved(t, fitted(t, transformer(2), transformer(3)))
	damaged := bytes.Clone(file)
	damaged[len(damaged)/2] ^= 1
	newer := bytes.Clone(file)
	newer[8] = raggedVersion + 1
	empty := []byte(fileMagic + "\x02\x00\x00\x00\x00\x00\x00\x00")
	binary.LittleEndian.PutUint32(empty[12:], checksum(nil))
	tests := map[string]struct {
		file []byte
		want string
	}{
		"nothing":   {nil, "not a snug profile"},
		"a pickle":  {[]byte("\x80\x04\x95"), "not a snug profile"},
		"cut short": {file[:12], "truncated in its first line"},
		"cut":       {file[:len(file)-1], "damaged"},
		"damaged":   {damaged, "checksum differs"},
		"newer":     {newer, "format 5, but this version of snug reads formats 2 to 4"},
		"no body":   {empty, "damaged"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Read(bytes.NewReader(tt.file))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestFileOfAlikeEvents checks that a run of a million equal events is readable, although its file is so small that
// its body looks like a bomb.
func TestFileOfAlikeEvents(t *testing.T) {
	p := fitted(t, at(2, longTrace(million, 2*640)), at(3, longTrace(million, 3*640)))
	var file bytes.Buffer
	if err := p.Write(&file); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(bytes.NewReader(file.Bytes())); err != nil {
		t.Errorf("%d bytes: %v", file.Len(), err)
	}
}

// TestFileOfALongRun checks that three steps of a million events each, recorded at two sizes, take less than a
// megabyte.
func TestFileOfALongRun(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	long := func(batch int64) Input {
		return at(batch, repeated(longTrace(million, uint64(batch)*640), 3))
	}
	file := saved(t, fitted(t, long(2), long(3)))
	if len(file) > 1_000_000 {
		t.Errorf("%d bytes", len(file))
	}
	if _, err := Read(bytes.NewReader(file)); err != nil {
		t.Error(err)
	}
}

// TestRepeats checks that repetitions are restored.
func TestRepeats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var body []byte
		for range rapid.IntRange(0, 12).Draw(t, "parts") {
			if len(body) > 0 && rapid.Bool().Draw(t, "again") {
				from := rapid.IntRange(0, len(body)-1).Draw(t, "from")
				body = append(body, body[from:rapid.IntRange(from, len(body)).Draw(t, "to")]...)
				continue
			}
			body = append(body, rapid.SliceOfN(rapid.ByteRange(0, 3), 0, 300).Draw(t, "new")...)
		}
		got, err := withRepeats(withoutRepeats(body), len(body))
		if err != nil || !bytes.Equal(got, body) {
			t.Fatalf("%v: %d bytes became %d", err, len(body), len(got))
		}
		if len(body) > 0 {
			if _, err := withRepeats(withoutRepeats(bytes.Repeat(body, 200)), 199*len(body)); err == nil && len(body) > repeatMin {
				t.Fatal("a result above the limit was accepted")
			}
		}
	})
}

// FuzzRepeats reads data that the writer did not produce.
func FuzzRepeats(f *testing.F) {
	f.Add(withoutRepeats(bytes.Repeat([]byte("sixty-four bytes are enough to be seen again "), 9)))
	f.Add([]byte{1, 'a', 200, 1, 1, 0, 0})
	f.Fuzz(func(t *testing.T, in []byte) {
		if out, err := withRepeats(in, 1<<16); err == nil && len(out) > 1<<16+len(in) {
			t.Errorf("%d bytes", len(out))
		}
	})
}
