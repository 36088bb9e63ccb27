// SPDX-License-Identifier: Apache-2.0

package snug_test

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug"
)

// FuzzParse checks that a setup is unchanged after it is written and read again, and that checking it never panics.
func FuzzParse(f *testing.F) {
	for _, text := range setups {
		f.Add([]byte(text))
	}
	f.Add([]byte("model: {profile: memory.snug}\nbatch: 2\nframes: 16\nlimit: 24GiB\n"))
	f.Add([]byte(`{"model": {"config": "config.json"}, "batch": 1e3}`))
	none := snug.WithOpener(func(string) (io.ReadCloser, error) { return nil, fs.ErrNotExist })
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := snug.Parse(text)
		if err != nil {
			return
		}
		var field *snug.FieldError
		if err := snug.Check(t.Context(), s, none); errors.As(err, &field) && field.Message == "" {
			t.Errorf("the error about %q has no message", field.Field)
		}
		data, err := json.Marshal(s)
		if errors.As(err, &field) {
			return // such as a model that is given in two ways
		}
		if err != nil {
			t.Fatal(err)
		}
		again, err := snug.Parse(data)
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if diff := cmp.Diff(s, again); diff != "" {
			t.Errorf("%s:\n%s", data, diff)
		}
	})
}
