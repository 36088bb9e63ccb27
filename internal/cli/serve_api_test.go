// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/web"
)

// TestAPIAnswersAsTheCommands checks that the API of serve answers what the commands print with --json, and that its
// description has every field of it.
func TestAPIAnswersAsTheCommands(t *testing.T) {
	h := web.New(web.Options{})
	described := requested(t, h, "GET", "/openapi.json", "")["components"].(map[string]any)["schemas"].(map[string]any)
	const gpt2, gated = `{"model":{"name":"gpt2"},"batch":4,"seq":128,"id":"mine"}`, `{"model":{"name":"llama-3.1-8b"},"batch":4,"seq":2048}`
	for _, c := range []struct {
		path, schema string
		setup        string
		command      []string
		more         []string // fields that the API adds for the page
	}{
		{"/estimate", "Estimate", gpt2, []string{"estimate"}, nil},
		{"/estimate", "Estimate", gated, []string{"estimate"}, nil},
		{"/max-batch", "MaxBatch", gpt2, []string{"max-batch"}, nil},
		{"/max-batch", "MaxBatch", gated, []string{"max-batch"}, nil},
		{"/optimize", "Plan", gpt2, []string{"optimize"}, []string{"change", "notes", "rescue", "flags"}},
		{"/optimize", "Plan", gated, []string{"optimize"}, []string{"change", "notes", "rescue", "flags"}},
	} {
		name := strings.Join(c.command, " ") + " " + c.setup
		var out, said bytes.Buffer
		env := Env{Stdin: strings.NewReader(c.setup), Stdout: &out, Stderr: &said, Open: func(string) (io.ReadCloser, error) { return nil, io.EOF }, Getenv: func(string) string { return "" }}
		Run(context.Background(), env, append(c.command, "--setup", "-", "--gpu", "L4", "--json"))
		var want map[string]any
		if err := json.Unmarshal(out.Bytes(), &want); err != nil {
			t.Fatalf("%s: %v in %q; %s", name, err, out.String(), said.String())
		}
		got := requested(t, h, "POST", c.path, `{"setup":`+c.setup+`,"gpu":"L4"}`)
		for _, field := range slices.Sorted(maps.Keys(got)) {
			if !has(described[c.schema], field) {
				t.Errorf("%s: the description of %s lacks %s", name, c.schema, field)
			}
			if _, known := want[field]; !known && slices.Contains(c.more, field) {
				delete(got, field)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: the command and the API differ:\n%s", name, diff)
		}
	}
}

// has reports whether a schema has a field.
func has(s any, field string) bool {
	properties, _ := s.(map[string]any)["properties"].(map[string]any)
	return properties[field] != nil
}

// requested sends a request and returns its answer.
func requested(t *testing.T, h http.Handler, method, path, body string) (out map[string]any) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, "http://localhost"+web.API+path, strings.NewReader(body)))
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%s: status %d, %v in %q", path, w.Code, err, w.Body)
	}
	return out
}
