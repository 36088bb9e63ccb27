// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// saved is a program as a file.
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
		t.Error("written again, the file differs")
	}
}

func TestFileThatIsNotOne(t *testing.T) {
	file := saved(t, fitted(t, transformer(2), transformer(3)))
	damaged := bytes.Clone(file)
	damaged[len(damaged)/2] ^= 1
	newer := bytes.Clone(file)
	newer[8] = 2
	empty := []byte(fileMagic + "\x01\x00\x00\x00\x00\x00\x00\x00")
	binary.LittleEndian.PutUint32(empty[12:], crc32.Checksum(nil, castagnoli))
	tests := map[string]struct {
		file []byte
		want string
	}{
		"nothing":   {nil, "not a snug profile"},
		"a pickle":  {[]byte("\x80\x04\x95"), "not a snug profile"},
		"cut short": {file[:12], "ends in its first line"},
		"cut":       {file[:len(file)-1], "damaged"},
		"damaged":   {damaged, "checksum differs"},
		"newer":     {newer, "format 2 and this snug reads format 1"},
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

// FuzzRead feeds bodies with a right checksum, so that what is behind it is
// reached. Whatever can be read can be asked for a prediction.
func FuzzRead(f *testing.F) {
	p := fitted(f, transformer(2), transformer(3))
	body, err := p.body()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body)
	f.Add(body[:len(body)/2])
	f.Fuzz(func(t *testing.T, body []byte) {
		p, err := readBody(body)
		if err != nil {
			return
		}
		at := Point{}
		for _, name := range p.Names {
			at[name] = 4
		}
		_, _ = p.Predict(at)
	})
}
