// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"snug/internal/setup"
	"snug/internal/shadow"
)

const gpt2 = `{"setup": {"model": {"name": "gpt2"}, "batch": 4, "seq": 128}, "gpu": "RTX-4090"}`

// send sends a request and returns the status and the decoded answer.
func send(t *testing.T, h http.Handler, method, path, body string, headers ...string) (int, map[string]any) {
	t.Helper()
	r := httptest.NewRequest(method, "http://localhost:7684"+path, strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	out := map[string]any{}
	if strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
			t.Fatalf("%s %s: %v in %q", method, path, err, w.Body)
		}
	}
	return w.Code, out
}

func TestEstimate(t *testing.T) {
	status, a := send(t, New(Options{}), "POST", API+"/estimate", gpt2)
	if status != http.StatusOK || a["fits"] != true || a["peak_reserved"].(float64) < 2e9 {
		t.Errorf("status %d, answer %v", status, a)
	}
}

// TestTimelineAddsUp checks that the areas at the peak equal the estimate's components.
func TestTimelineAddsUp(t *testing.T) {
	h := New(Options{})
	_, estimate := send(t, h, "POST", API+"/estimate", gpt2)
	_, a := send(t, h, "POST", API+"/timeline", gpt2)
	peak, sum := int(a["peak"].(float64)), 0.0
	for _, area := range a["areas"].([]any) {
		sum += area.([]any)[peak].(float64)
	}
	want := 0.0
	for name, bytes := range estimate["components"].(map[string]any) {
		if name != "fragmentation" {
			want += bytes.(float64)
		}
	}
	if sum != want {
		t.Errorf("the areas at the peak have %.0f bytes, the components %.0f", sum, want)
	}
	if len(fromBelow) != int(shadow.Workspace)+1 {
		t.Errorf("%d of %d components are drawn", len(fromBelow), shadow.Workspace+1)
	}
}

// TestTimelineNamesTensors checks that the tensors named in a column are part of the column's areas, and that those of
// the peak are the ones listed for the peak.
func TestTimelineNamesTensors(t *testing.T) {
	_, a := send(t, New(Options{}), "POST", API+"/timeline", gpt2)
	groups, columns, areas := a["groups"].([]any), a["held"].([]any), a["areas"].([]any)
	if len(columns) != len(a["reserved"].([]any)) {
		t.Fatalf("%d columns name tensors, of %d", len(columns), len(a["reserved"].([]any)))
	}
	for k, column := range columns {
		named := map[string]float64{}
		for _, x := range column.([]any) {
			h := x.(map[string]any)
			g := groups[int(h["group"].(float64))].(map[string]any)
			named[g["component"].(string)] += h["count"].(float64) * g["each"].(float64)
		}
		for i, c := range a["components"].([]any) {
			area := areas[i].([]any)[k].(float64)
			if got := named[c.(string)]; got > area || (got == 0) != (area == 0) {
				t.Fatalf("column %d: tensors of %.0f bytes are named for %s, which has %.0f", k, got, c, area)
			}
		}
	}
	first := a["tensors"].([]any)[0].(map[string]any)
	h := columns[int(a["peak"].(float64))].([]any)[0].(map[string]any)
	g := groups[int(h["group"].(float64))].(map[string]any)
	if g["path"] != first["path"] || g["form"] != first["form"] || h["count"] != first["count"] {
		t.Errorf("the largest tensors at the peak are %v, and in its column %v × %v", first, h["count"], g)
	}
}

func TestCurveKnowsTheLimit(t *testing.T) {
	_, a := send(t, New(Options{}), "POST", API+"/curve", gpt2)
	largest := a["max_batch"].(float64)
	for _, p := range a["points"].([]any) {
		at := p.(map[string]any)
		if at["fits"] != (at["batch"].(float64) <= largest) {
			t.Errorf("batch %v fits: %v, and the largest is %v", at["batch"], at["fits"], largest)
		}
	}
}

func TestOptimize(t *testing.T) {
	status, a := send(t, New(Options{}), "POST", API+"/optimize", strings.Replace(gpt2, `"gpu"`, `"target_effective_batch": 64, "gpu"`, 1))
	best, _ := a["recommended"].(map[string]any)
	if status != http.StatusOK || best == nil {
		t.Fatalf("status %d, answer %v", status, a)
	}
	settings := best["settings"].(map[string]any)
	if n := settings["batch"].(float64) * settings["accumulation"].(float64); n != 64 {
		t.Errorf("the effective batch is %v", n)
	}
}

// TestBadQuestions checks that each bad request is answered with what is wrong.
func TestBadQuestions(t *testing.T) {
	h := New(Options{})
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		says               string
	}{
		"no JSON":         {"POST", "/estimate", "{", 400, "JSON"},
		"two objects":     {"POST", "/estimate", gpt2 + gpt2, 400, "data after its JSON object"},
		"no setup":        {"POST", "/estimate", "{}", 400, "setup is missing"},
		"unknown field":   {"POST", "/estimate", `{"setup": {}, "gpus": 1}`, 400, "gpus"},
		"unknown setting": {"POST", "/estimate", `{"setup": {"model": {"name": "gpt2"}, "batch": 1, "seq": 8, "batchsize": 3}}`, 400, "batchsize"},
		"unknown model":   {"POST", "/estimate", `{"setup": {"model": {"name": "gpt-17"}, "batch": 1, "seq": 8}}`, 400, "gpt-17"},
		"misspelled":      {"POST", "/estimate", `{"setup": {"model": {"name": "gtp2"}, "batch": 1, "seq": 8}}`, 400, "did you mean gpt2?"},
		"a folder":        {"POST", "/estimate", `{"setup": {"model": {"name": "/srv/gtp2"}, "batch": 1, "seq": 8}}`, 400, "cannot name files"},
		"unknown card":    {"POST", "/estimate", `{"setup": {"model": {"name": "gpt2"}, "batch": 1, "seq": 8}, "gpu": "RTX-1"}`, 400, "RTX-1"},
		"a file":          {"POST", "/estimate", `{"setup": {"model": {"config": "/etc/passwd"}, "batch": 1, "seq": 8}}`, 400, "cannot name files"},
		"a script":        {"POST", "/estimate", `{"setup": {"model": {"name": "gpt2"}, "loop": "/etc/train.py", "batch": 1, "seq": 8}}`, 400, "cannot name files"},
		"lengths":         {"POST", "/estimate", `{"setup": {"model": {"name": "gpt2"}, "lengths": "/etc/hosts", "batch": 1, "seq": 8}}`, 400, "cannot name files"},
		"no card":         {"POST", "/optimize", `{"setup": {"model": {"name": "gpt2"}, "batch": 1, "seq": 8}}`, 400, "limit"},
		"a bad goal":      {"POST", "/optimize", strings.Replace(gpt2, `"gpu"`, `"goal": "fun", "gpu"`, 1), 400, "fun"},
		"no snapshot":     {"POST", "/snapshots", "hello", 400, ""},
		"no profile":      {"POST", "/profiles", "hello", 400, ""},
		"forgotten":       {"GET", "/snapshots/snapshot-9/replay", "", 404, "upload it again"},
		"unknown word":    {"GET", "/models?name=gpt2", "", 400, "has no parameter \"name\""},
		"POST with words": {"POST", "/estimate?gpu=T4", gpt2, 400, "has no parameter \"gpu\""},
		"a bad address":   {"GET", "/models?q=%zz", "", 400, "invalid URL escape"},
		"no such path":    {"GET", "/nothing", "", 404, "openapi"},
		"wrong method":    {"DELETE", "/estimate", "", 405, "takes POST"},
	} {
		status, a := send(t, h, c.method, API+c.path, c.body)
		if text, _ := a["error"].(string); status != c.status || text == "" || !strings.Contains(text, c.says) {
			t.Errorf("%s: status %d, %q; want %d with %q", name, status, text, c.status, c.says)
		}
	}
}

// TestPatience checks that an answer that would take too long is refused.
func TestPatience(t *testing.T) {
	h := New(Options{Patience: 50 * time.Millisecond})
	status, a := send(t, h, "POST", API+"/compare", `{"setup": {"model": {"name": "t5-small"}, "batch": 3, "seq": 192}, "target_effective_batch": 28949}`)
	if text, _ := a["error"].(string); status != 422 || !strings.Contains(text, "longer than 50ms; use the command line") {
		t.Errorf("status %d, %q", status, text)
	}
}

func TestTooLarge(t *testing.T) {
	r := httptest.NewRequest("POST", "http://localhost"+API+"/estimate", io.LimitReader(endless{}, maxQuestion+1))
	w := httptest.NewRecorder()
	New(Options{}).ServeHTTP(w, r)
	if w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// TestGuard checks that requests from other sites' pages are refused.
func TestGuard(t *testing.T) {
	open, closed := New(Options{Hosts: []string{"gpu-box"}}), New(Options{Token: "secret"})
	for name, c := range map[string]struct {
		h       http.Handler
		method  string
		path    string
		headers []string
		status  int
	}{
		"loopback":            {open, "GET", API + "/gpus", nil, 200},
		"IPv6":                {open, "GET", API + "/gpus", []string{"Host", "[::1]:7684"}, 200},
		"its own name":        {open, "GET", API + "/gpus", []string{"Host", "gpu-box:7684"}, 200},
		"rebound name":        {open, "GET", API + "/gpus", []string{"Host", "evil.example"}, 421},
		"rebound page":        {open, "GET", "/", []string{"Host", "evil.example"}, 421},
		"another origin":      {open, "POST", API + "/estimate", []string{"Origin", "http://evil.example"}, 403},
		"another site":        {open, "POST", API + "/snapshots", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		"another site reads":  {open, "GET", API + "/gpus", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		"another port reads":  {open, "GET", API + "/watch/gpus", []string{"Sec-Fetch-Site", "same-site"}, 403},
		"a foreign stream":    {open, "GET", API + "/tunes/events", []string{"Origin", "http://evil.example"}, 403},
		"a foreign frame":     {open, "GET", "/", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, 403},
		"a link elsewhere":    {open, "GET", "/", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 200},
		"its own page":        {open, "GET", API + "/gpus", []string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors"}, 200},
		"no token":            {closed, "GET", API + "/gpus", nil, 401},
		"no token, page":      {closed, "GET", "/", nil, 401},
		"wrong token":         {closed, "GET", API + "/gpus?token=guess", nil, 401},
		"token":               {closed, "GET", API + "/gpus?token=secret", nil, 200},
		"bearer":              {closed, "GET", API + "/gpus", []string{"Authorization", "Bearer secret"}, 200},
		"cookie":              {closed, "GET", API + "/gpus", []string{"Cookie", tokenCookie + "=secret"}, 200},
		"token of a POST":     {closed, "POST", API + "/estimate?token=secret", nil, 401},
		"outside the folder":  {open, "GET", "/../server.go", nil, 404},
		"the page":            {open, "GET", "/", nil, 200},
		"a part of the page":  {open, "GET", "/app.js", nil, 200},
		"nothing of the page": {open, "GET", "/app.jsx", nil, 404},
	} {
		status, _ := send(t, c.h, c.method, c.path, "", c.headers...)
		if status != c.status && !(c.status == 404 && (status == 301 || status == 307)) {
			t.Errorf("%s: status %d, want %d", name, status, c.status)
		}
	}
}

func TestSnapshot(t *testing.T) {
	data, err := os.ReadFile("../../testdata/oom/graph_kept.pickle.gz")
	if err != nil {
		t.Fatal(err)
	}
	h := New(Options{})
	status, a := send(t, h, "POST", API+"/snapshots", string(data))
	if status != http.StatusOK || a["verdict"] != "leak" {
		t.Fatalf("status %d, answer %v", status, a)
	}
	page := httptest.NewRecorder()
	h.ServeHTTP(page, httptest.NewRequest("GET", "http://localhost"+a["page"].(string), nil))
	if page.Code != http.StatusOK || !strings.Contains(page.Header().Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("the page: status %d, policy %q", page.Code, page.Header().Get("Content-Security-Policy"))
	}
	_, r := send(t, h, "GET", API+"/snapshots/"+a["id"].(string)+"/replay", "")
	if len(r["outcomes"].([]any)) < 3 {
		t.Errorf("outcomes: %v", r)
	}
	_, one := send(t, h, "GET", API+"/snapshots/"+a["id"].(string)+"/replay?conf=expandable_segments:True", "")
	if got := one["outcomes"].([]any)[0].(map[string]any)["conf"]; got != "expandable_segments:True" {
		t.Errorf("conf %v", got)
	}
}

// TestUploadsAreBounded checks that the oldest upload is dropped.
func TestUploadsAreBounded(t *testing.T) {
	var u uploads
	first := keep(&u, &u.profiles, "upload-", ".snug", []byte("x"))
	for range mostUploads {
		keep(&u, &u.profiles, "upload-", ".snug", []byte("y"))
	}
	if _, ok := found(&u, &u.profiles, first); ok || len(u.profiles) != mostUploads {
		t.Errorf("%d uploads are kept", len(u.profiles))
	}
}

// TestOpenAPI checks that every path is described, and that every referenced schema exists.
func TestOpenAPI(t *testing.T) {
	_, doc := send(t, New(Options{Version: "1"}), "GET", API+"/openapi.json", "")
	paths := doc["paths"].(map[string]any)
	s := &server{}
	for _, r := range s.list() {
		at, _ := paths[API+r.path].(map[string]any)
		if at[strings.ToLower(r.method)] == nil {
			t.Errorf("%s %s is not described", r.method, r.path)
		}
	}
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	schemas := doc["components"].(map[string]any)["schemas"].(map[string]any)
	for _, part := range strings.Split(string(text), `#/components/schemas/`)[1:] {
		if name, _, _ := strings.Cut(part, `"`); schemas[name] == nil {
			t.Errorf("there is no schema %s", name)
		}
	}
	// Every setting has a place in a setup.
	run := schemas["Setup"].(map[string]any)["properties"].(map[string]any)
	for _, x := range setup.Settings() {
		at, rest := run, x.Name
		for outer, inner, nested := strings.Cut(rest, "."); nested; outer, inner, nested = strings.Cut(rest, ".") {
			at, _ = at[outer].(map[string]any)["properties"].(map[string]any)
			rest = inner
		}
		if at[rest] == nil {
			t.Errorf("the schema of a setup lacks %s", x.Name)
		}
	}
	answer := schemas["Estimate"].(map[string]any)["properties"].(map[string]any)
	for _, field := range []string{"peak_reserved", "components", "interval", "notes"} {
		if answer[field] == nil {
			t.Errorf("the schema of an estimate lacks %s", field)
		}
	}
}

// TestPageNamesNoOtherHost checks that the page works offline.
func TestPageNamesNoOtherHost(t *testing.T) {
	entries, err := static.ReadDir("static")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := static.ReadFile("static/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, place := range []string{`src="http`, `href="http`, `fetch("http`, `@import`, `url(http`} {
			if strings.Contains(string(data), place) {
				t.Errorf("%s contains %s", e.Name(), place)
			}
		}
	}
}

// BenchmarkEstimates requests estimates of different runs in parallel. 200 requests per second means 5 ms each.
func BenchmarkEstimates(b *testing.B) {
	h := New(Options{})
	var asked atomic.Int64
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			other := fmt.Sprintf(`{"setup": {"model": {"name": "gpt2"}, "batch": %d, "seq": %d}, "gpu": "RTX-4090"}`, 1+asked.Add(1)%16, 64*(1+asked.Load()%15))
			r := httptest.NewRequest("POST", "http://localhost"+API+"/estimate", strings.NewReader(other))
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); w.Code != http.StatusOK {
				b.Fatalf("status %d: %s", w.Code, w.Body)
			}
		}
	})
}
