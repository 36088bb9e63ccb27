// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"snug/internal/watch/live"
)

// These requests are generated from the API's own description, so that new addresses and fields are tested automatically.
// Most are nearly valid, because random input would never get past the decoder.

// described is the API's description, as the server returns it.
type described struct {
	Paths      map[string]map[string]describedOperation `json:"paths"`
	Components struct {
		Schemas map[string]map[string]any `json:"schemas"`
	} `json:"components"`
}

type describedOperation struct {
	Parameters []struct {
		Name   string         `json:"name"`
		In     string         `json:"in"`
		Schema map[string]any `json:"schema"`
	} `json:"parameters"`
	RequestBody struct {
		Content map[string]struct {
			Schema map[string]any `json:"schema"`
		} `json:"content"`
	} `json:"requestBody"`
}

// maker generates values that match a schema exactly or nearly.
type maker struct {
	*rand.Rand
	doc described
	ids []string // of uploads
	bad float64  // the share of invalid values
}

func (m *maker) one(of ...any) any { return of[m.IntN(len(of))] }

// wrong returns an invalid value: one of another type, or an extreme one.
func (m *maker) wrong() any {
	return m.one(nil, true, -1, 0, 1.5, math.MaxInt64, -math.MaxFloat64, 1e308, "", "x", strings.Repeat("9", 400), strings.Repeat("ä", 5000), "../../etc/passwd", "\x00\n",
		[]any{}, []any{1, "a", nil}, map[string]any{}, map[string]any{"a": map[string]any{"b": []any{nil}}}, json.Number("1e400"), json.Number("18446744073709551616"))
}

// value generates a value for a schema. The field's name hints at values that are likely to be accepted.
func (m *maker) value(name string, s map[string]any, depth int) any {
	if m.Float64() < m.bad || depth > 6 {
		return m.wrong()
	}
	if to, ok := s["$ref"].(string); ok {
		return m.value(name, m.doc.Components.Schemas[to[strings.LastIndex(to, "/")+1:]], depth+1)
	}
	if words, ok := s["enum"].([]any); ok && m.IntN(8) > 0 {
		return words[m.IntN(len(words))]
	}
	switch kind := s["type"].(type) {
	case []any:
		return m.one(float64(m.IntN(100)), "24GiB", "7", fmt.Sprint(m.IntN(100))+"GB")
	case string:
		return m.typed(name, kind, s, depth)
	}
	return m.wrong()
}

func (m *maker) typed(name, kind string, s map[string]any, depth int) any {
	switch kind {
	case "object":
		return m.object(name, s, depth)
	case "array":
		items, _ := s["items"].(map[string]any)
		out := []any{}
		for range m.IntN(4) {
			out = append(out, m.value(name, items, depth+1))
		}
		return out
	case "integer":
		return m.one(0, 1, 2, 4, 8, 16, 64, 1+m.IntN(300))
	case "number":
		return m.one(0.0, 0.5, 1.0, m.Float64(), 8)
	case "boolean":
		return m.IntN(2) == 0
	}
	if name == "gpu" {
		return m.one("RTX-4090", "A100-80GB", "T4", "H100", "gpt2")
	}
	return m.one("gpt2", "bert-base", "RTX-4090", "A100-80GB", "adamw", "batch", "expandable_segments:True", "uniform:8-64")
}

func (m *maker) object(name string, s map[string]any, depth int) any {
	if name == "model" {
		return m.one(map[string]any{"name": "gpt2"}, map[string]any{"name": "bert-base"}, map[string]any{"name": "torchvision/resnet18"},
			map[string]any{"config": map[string]any{"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 1 + m.IntN(3), "num_attention_heads": 4, "vocab_size": m.one(100, 0, -1, "x")}},
			map[string]any{"config": m.wrong()}, map[string]any{"profile": "upload-1.snug"}, m.wrong())
	}
	fields, _ := s["properties"].(map[string]any)
	need, _ := s["required"].([]any)
	out := map[string]any{}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		// A request with every setting always fails, so most are omitted.
		if !slices.Contains(need, any(field)) && m.IntN(25) > 0 && !slices.Contains([]string{"batch", "seq", "gpu"}, field) || m.Float64() < m.bad {
			continue
		}
		inner, _ := fields[field].(map[string]any)
		out[field] = m.value(field, inner, depth+1)
	}
	if m.Float64() < m.bad {
		out["no_such_field"] = m.wrong()
	}
	return out
}

// request generates a request for one of the described operations.
func (m *maker) request(path, method string, op describedOperation, uploads [][]byte) (*http.Request, []byte) {
	query := url.Values{}
	for _, p := range op.Parameters {
		text := fmt.Sprint(m.value(p.Name, p.Schema, 0))
		if p.In == "path" {
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(m.one(text, m.ids[0], m.ids[1], "gpus", "..", "%2e%2e").(string)))
		} else if m.IntN(3) > 0 {
			query.Set(p.Name, text)
		}
	}
	var body []byte
	kind := "application/json"
	for content, c := range op.RequestBody.Content {
		kind = content
		if content == "application/octet-stream" {
			body = m.damaged(uploads[m.IntN(len(uploads))])
			continue
		}
		body, _ = json.Marshal(m.value("", c.Schema, 0)) // the body is empty if a number is too large for JSON
	}
	if m.Float64() < m.bad {
		body = m.damaged(body)
	}
	if m.IntN(12) == 0 {
		method = m.one("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "BREW").(string)
	}
	r := httptest.NewRequest(method, "http://localhost"+path+"?"+query.Encode(), strings.NewReader(string(body)))
	r.Header.Set("Content-Type", m.one(kind, kind, kind, "text/plain", "multipart/form-data", "\x7f", "").(string))
	return r, body
}

// damaged returns the bytes unchanged, or with some of them removed or changed.
func (m *maker) damaged(data []byte) []byte {
	out := slices.Clone(data)
	if len(out) == 0 || m.IntN(4) == 0 {
		return out
	}
	if m.IntN(3) == 0 {
		out = out[:m.IntN(len(out))]
	}
	for range m.IntN(4) {
		if len(out) > 0 {
			out[m.IntN(len(out))] = byte(m.IntN(256))
		}
	}
	return out
}

// tried sends generated requests and fails at the first status of 500 or above. It returns the number of answers by
// status, with the number of POST requests answered with 200 under key 0.
func tried(t *testing.T, seed uint64, n int) map[int]int {
	t.Helper()
	h := New(Options{Version: "1", Replay: live.Replay})
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 20))}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost"+API+"/openapi.json", nil))
	if err := json.Unmarshal(w.Body.Bytes(), &m.doc); err != nil {
		t.Fatal(err)
	}
	uploads := [][]byte{[]byte("hello"), nil}
	for _, path := range []string{"../../testdata/oom/long_batch.pickle.gz", "../../testdata/watch/good.jsonl.gz", "../snapshot/testdata/resnet18-b4-fp32-sgdm.pickle.gz"} {
		if data, err := os.ReadFile(path); err == nil {
			uploads = append(uploads, data)
		}
	}
	if len(uploads) < 4 {
		t.Fatalf("only %d uploads were found", len(uploads))
	}
	for to, name := range map[string]string{"/snapshots": "../../testdata/oom/long_batch.pickle.gz", "/recordings": "../../testdata/watch/good.jsonl.gz"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, answer := send(t, h, "POST", API+to, string(data))
		m.ids = append(m.ids, fmt.Sprint(answer["id"]))
	}
	slices.Sort(m.ids)
	paths := slices.Sorted(maps.Keys(m.doc.Paths))
	seen := map[int]int{}
	for range n {
		path := paths[m.IntN(len(paths))]
		if path == API+"/tunes/events" {
			continue // the stream never ends
		}
		methods := slices.Sorted(maps.Keys(m.doc.Paths[path]))
		method := methods[m.IntN(len(methods))]
		m.bad = m.one(0.0, 0.05).(float64)
		r, body := m.request(path, strings.ToUpper(method), m.doc.Paths[path][method], uploads)
		w := httptest.NewRecorder()
		longest := time.Minute
		if strings.Contains(path, "/watch/") {
			longest = 50 * time.Millisecond // a recording may be replayed at its own speed
		}
		ctx, leave := context.WithTimeout(t.Context(), longest)
		h.ServeHTTP(w, r.WithContext(ctx))
		leave()
		seen[w.Code]++
		if w.Code == http.StatusOK && r.Method == "POST" {
			seen[0]++
		}
		if w.Code >= 500 {
			t.Fatalf("seed %d: %s %s: status %d: %s; the request: %.2000s", seed, r.Method, r.URL, w.Code, w.Body, body)
		}
		if kind := w.Header().Get("Content-Type"); w.Code >= 400 && r.Method != "HEAD" && (kind != "application/json" || !strings.Contains(w.Body.String(), `"error":`)) && strings.HasPrefix(r.URL.Path, API) {
			t.Errorf("seed %d: %s %s: status %d with %s: %s", seed, r.Method, r.URL, w.Code, kind, w.Body)
		}
	}
	return seen
}

// TestNoRequestIsTheServersFault checks that every request gets a result or an error about the request, never a server
// error. SNUG_TEST_REQUESTS sets the number of requests.
func TestNoRequestIsTheServersFault(t *testing.T) {
	n := 600
	if more, err := strconv.Atoi(os.Getenv("SNUG_TEST_REQUESTS")); err == nil {
		n = more
	}
	seen := tried(t, 1, n)
	t.Logf("answers by status: %v", seen)
	if seen[0] < n/40 || seen[400] < n/8 {
		t.Errorf("the generator makes too few valid or too few invalid requests: %v", seen)
	}
}

// FuzzRequests does the same as TestNoRequestIsTheServersFault, from any seed.
func FuzzRequests(f *testing.F) {
	for seed := range uint64(3) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { tried(t, seed, 20) })
}
