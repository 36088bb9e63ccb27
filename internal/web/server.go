// SPDX-License-Identifier: Apache-2.0

package web

import (
	"embed"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"snug/internal/gpu"
)

//go:embed static
var static embed.FS

// Options configures a server.
type Options struct {
	// Version is the version of snug.
	Version string
	// Here is this machine's card, the page's default; nil if there is none.
	Here *gpu.Card
	// Hosts are the names by which the server may be addressed, besides the loopback ones.
	Hosts []string
	// Token, if not empty, is required in each request.
	Token string
	// Work is the number of requests that are computed at once; 0 means two.
	Work int
	// Patience limits the time for one answer, and the time that a request waits for its turn; 0 means 30 seconds.
	Patience time.Duration
	// Live lists what can be watched.
	Live []Live
	// Replay replays an uploaded recording; nil means that recordings cannot be uploaded.
	Replay Replay
	// Tunes returns this machine's tunes, the newest first; nil means none.
	Tunes func() ([]Tune, error)
}

// server answers requests.
type server struct {
	options Options
	work    chan struct{} // one element for each request being computed
	streams chan struct{} // one element for each open stream
	uploads uploads
}

// New returns the handler for all requests of the page and of the API.
func New(o Options) http.Handler {
	if o.Work <= 0 {
		o.Work = 2
	}
	if o.Patience <= 0 {
		o.Patience = 30 * time.Second
	}
	s := &server{options: o, work: make(chan struct{}, o.Work), streams: make(chan struct{}, mostStreams)}
	return s.guarded(s.routes())
}

// API is the path prefix of all API endpoints.
const API = "/api/v1"

// route is one endpoint of the API. The API's description is generated from the same list.
type route struct {
	method, path string
	what         string // description of what the endpoint returns
	question     string // the schema of its request; "" if it has none
	answer       string // the schema of its answer
	handle       handler
}

// handler answers a request, or returns an error that becomes the answer.
type handler func(w http.ResponseWriter, r *http.Request) (any, error)

// list returns the endpoints of the API.
func (s *server) list() []route {
	return []route{
		{"GET", "/settings", "The settings of a run: names, values, defaults and help", "", "Settings", s.settings},
		{"GET", "/models", "Models known by name; q narrows the list", "", "Models", s.models},
		{"GET", "/gpus", "Known cards, and the card of this machine", "", "Cards", s.cards},
		{"POST", "/estimate", "The memory of a run, as snug estimate --json prints it", "Question", "Estimate", s.estimate},
		{"POST", "/timeline", "One optimizer step over time by component, and the tensors alive at the peak", "Question", "Timeline", s.timeline},
		{"POST", "/max-batch", "The largest batch that fits, as snug max-batch --json prints it", "Question", "MaxBatch", s.maxBatch},
		{"POST", "/curve", "Memory and speed for growing batches, up to the largest that fits", "Question", "Curve", s.curve},
		{"POST", "/optimize", "The best settings for a card, as snug optimize --json prints them", "PlanQuestion", "Plan", s.optimize},
		{"POST", "/compare", "The best settings on each card", "PlanQuestion", "Comparison", s.compare},
		{"POST", "/profiles", "Uploads a profile (memory.snug); its name goes into model.profile", "Bytes", "Upload", s.uploadProfile},
		{"POST", "/snapshots", "Uploads a memory snapshot; answers with what it shows", "Bytes", "Snapshot", s.uploadSnapshot},
		{"GET", "/snapshots/{id}", "What an uploaded snapshot shows", "", "Snapshot", s.snapshot},
		{"GET", "/snapshots/{id}/replay", "A snapshot replayed under other allocator settings (conf), or under all worth trying", "", "Replay", s.replay},
		{"POST", "/recordings", "Uploads a snug watch recording for replay", "Bytes", "Recording", s.uploadRecording},
		{"GET", "/watch", "Lists what can be watched: this machine's GPUs and recordings", "", "Live", s.sources},
		{"GET", "/watch/{id}", "A stream of events: reading (a line of snug watch --json), view (the data to draw), problem, done", "", "Events", s.watch},
		{"GET", "/tunes", "Lists this machine's snug tune reports, the newest first", "", "Tunes", s.tunes},
		{"GET", "/tunes/events", "A stream of events: tunes (the same list), sent at once and whenever it changes", "", "Events", s.tuneEvents},
		{"GET", "/openapi.json", "This description", "", "OpenAPI", s.openAPI},
	}
}

// strict returns the endpoint's handler, which refuses parameters that the description does not list.
func (r route) strict() handler {
	known := []string{}
	if r.method == http.MethodGet {
		known = append(known, "token")
	}
	for _, p := range parameters(r.path) {
		if name, ok := p["name"].(string); ok && p["in"] == "query" {
			known = append(known, name)
		}
	}
	return func(w http.ResponseWriter, q *http.Request) (any, error) {
		given, err := url.ParseQuery(q.URL.RawQuery)
		if err != nil {
			return nil, invalid("the address's parameters: %w", err)
		}
		for _, name := range slices.Sorted(maps.Keys(given)) {
			if !slices.Contains(known, name) {
				return nil, invalid("%s has no parameter %q; %s/openapi.json lists the parameters", q.URL.Path, name, API)
			}
		}
		return r.handle(w, q)
	}
}

// otherMethod answers requests with a method that the endpoint does not support.
func otherMethod(allowed []string) handler {
	return func(w http.ResponseWriter, r *http.Request) (any, error) {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		return nil, &problem{http.StatusMethodNotAllowed, r.URL.Path + " takes " + strings.Join(allowed, " or ") + ", not " + r.Method}
	}
}

func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for _, r := range s.list() {
		mux.Handle(r.method+" "+API+r.path, s.answered(r.strict()))
		methods[r.path] = append(methods[r.path], r.method)
	}
	for path, allowed := range methods {
		mux.Handle(API+path, s.answered(otherMethod(allowed)))
	}
	mux.Handle(API+"/", s.answered(func(_ http.ResponseWriter, r *http.Request) (any, error) {
		return nil, &problem{http.StatusNotFound, "there is no " + r.Method + " " + r.URL.Path + "; " + API + "/openapi.json lists the endpoints"}
	}))
	mux.HandleFunc("GET /snapshots/{id}", s.snapshotPage)
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err) // cannot happen, because the folder is embedded
	}
	mux.Handle("/", http.FileServerFS(files))
	return mux
}
