// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"snug/internal/estimate"
	"snug/internal/files"
	"snug/internal/gpu"
	"snug/internal/setup"
)

// question is a request about a run: a setup as in a file, and a card.
type question struct {
	Setup     map[string]any  `json:"setup"`
	GPU       string          `json:"gpu"`        // the name of a card
	GPUMemory json.RawMessage `json:"gpu_memory"` // 24 for a card sold as 24 GB, or "24GiB"
}

// asked is a decoded question.
type asked struct {
	setup *setup.Setup
	card  gpu.Card
}

// read reads a question from a request and decodes its setup.
func (s *server) read(w http.ResponseWriter, r *http.Request, anyBatch bool) (asked, error) {
	var q question
	if err := decode(w, r, &q); err != nil {
		return asked{}, err
	}
	return s.understand(q, anyBatch)
}

func (s *server) understand(q question, anyBatch bool) (asked, error) {
	if q.Setup == nil {
		return asked{}, invalid("setup is missing; it is the run, as docs/setup.md describes it: {\"model\": {\"name\": \"gpt2\"}, \"batch\": 4, \"seq\": 1024}")
	}
	card, err := q.card()
	if err != nil {
		return asked{}, invalid("%w", err)
	}
	in, err := setup.Decode(q.Setup, setup.Source{Open: s.uploads.open, Profile: estimate.ReadProfile, AnyBatch: anyBatch})
	if err != nil {
		return asked{}, invalid("%w", err)
	}
	if !in.Model.Known() {
		return asked{}, invalid("model_type %q is not known; record a profile (snug profile) and upload it", in.Model.Family())
	}
	if err := estimate.Runnable(in, card); err != nil {
		return asked{}, invalid("%w", err)
	}
	return asked{in, card}, nil
}

// card returns the card in a question or, without one, the reference card without a size.
func (q question) card() (gpu.Card, error) {
	card := gpu.Reference
	card.Total = 0
	if q.GPU != "" {
		found, err := gpu.Find(q.GPU)
		if err != nil {
			return card, fmt.Errorf("gpu: %w", err)
		}
		card = found
	}
	memory := strings.Trim(string(q.GPUMemory), `"`)
	if memory == "" || memory == "null" {
		return card, nil
	}
	sized, err := gpu.Sized(memory)
	switch {
	case err != nil:
		return card, fmt.Errorf("gpu_memory: %w", err)
	case q.GPU == "":
		return sized, nil
	case sized.Least && sized.Memory == card.Memory:
		return card, nil
	}
	card.Resized = sized.Total != card.Total
	card.Total = sized.Total
	return card, nil
}

// problem is an error with its HTTP status.
type problem struct {
	status int
	text   string
}

func (p *problem) Error() string { return p.text }

func invalid(format string, args ...any) error {
	return &problem{http.StatusBadRequest, fmt.Errorf(format, args...).Error()}
}

// decode decodes the JSON object in a request. An unknown field is an error, as everywhere in snug.
func decode(w http.ResponseWriter, r *http.Request, into any) error {
	data, err := files.ReadAll(http.MaxBytesReader(w, r.Body, maxQuestion), maxQuestion)
	if err != nil {
		return tooLarge(err, maxQuestion)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return invalid("the request is not the expected JSON object: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return invalid("the request has data after its JSON object")
	}
	return nil
}

func tooLarge(err error, limit int64) error {
	var over *http.MaxBytesError
	var long files.TooLargeError
	if errors.As(err, &over) || errors.As(err, &long) {
		return &problem{http.StatusRequestEntityTooLarge, fmt.Sprintf("the upload is larger than %d MiB", limit>>20)}
	}
	return invalid("the request is incomplete: %w", err)
}

// compute waits for a free slot and answers a request within a time limit.
func (s *server) compute(r *http.Request, do func(ctx context.Context) (any, error)) (any, error) {
	waiting, cancel := context.WithTimeout(r.Context(), s.options.Patience)
	defer cancel()
	select {
	case s.work <- struct{}{}:
		defer func() { <-s.work }()
	case <-waiting.Done():
		return nil, &problem{http.StatusServiceUnavailable, "the server is busy with other requests; try again"}
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.options.Patience)
	defer cancel()
	out, err := do(ctx)
	var known *problem
	switch {
	case err == nil || errors.As(err, &known):
		return out, err
	case errors.Is(err, context.DeadlineExceeded):
		return nil, &problem{http.StatusUnprocessableEntity, fmt.Sprintf("the answer takes longer than %v; use the command line", s.options.Patience)}
	}
	return nil, &problem{http.StatusUnprocessableEntity, err.Error()}
}

// answered turns a handler into one that writes JSON, or a stream of it.
func (s *server) answered(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out, err := h(w, r)
		if run, goesOn := out.(stream); goesOn && err == nil {
			s.serveStream(w, r, run)
			return
		}
		if err == nil {
			writeJSON(w, http.StatusOK, out)
			return
		}
		var p *problem
		if !errors.As(err, &p) {
			p = &problem{http.StatusInternalServerError, err.Error()}
		}
		writeProblem(w, p)
	})
}

func writeProblem(w http.ResponseWriter, p *problem) {
	writeJSON(w, p.status, map[string]string{"error": p.text})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be written as JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // the client may be gone
}
