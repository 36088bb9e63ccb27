// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"sync"

	"snug/internal/estimate"
	"snug/internal/files"
	"snug/internal/snapshot"
)

// mostUploads is how many profiles, and how many snapshots, are kept; the oldest is dropped first.
const mostUploads = 8

// uploads are the files uploaded to the page. They are kept only in memory, and a request cannot name any others.
type uploads struct {
	mu         sync.Mutex
	next       int
	start      string // random, so that a link from before a restart never shows another file
	profiles   []upload[[]byte]
	snapshots  []upload[*snapshot.Recording]
	recordings []upload[[]byte]
}

type upload[T any] struct {
	id    string
	value T
}

// keep adds an upload to a list and returns its name.
func keep[T any](u *uploads, list *[]upload[T], prefix, suffix string, value T) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.next++
	if u.start == "" {
		u.start = strings.ToLower(rand.Text()[:8])
	}
	id := fmt.Sprintf("%s%d-%s%s", prefix, u.next, u.start, suffix)
	*list = append(*list, upload[T]{id, value})
	if len(*list) > mostUploads {
		*list = (*list)[1:]
	}
	return id
}

// found returns an upload by its name.
func found[T any](u *uploads, list *[]upload[T], id string) (value T, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, x := range *list {
		if x.id == id {
			return x.value, true
		}
	}
	return value, false
}

// isModelName reports whether a name looks like a model's, gpt2 or org/name, and not like a path.
func isModelName(name string) bool {
	return name != "" && !strings.ContainsRune("./~", rune(name[0])) && strings.Count(name, "/") < 2
}

// open opens an uploaded profile. A request cannot reach a file in any other way.
func (u *uploads) open(name string) (io.ReadCloser, error) {
	data, ok := found(u, &u.profiles, name)
	if model, isConfig := strings.CutSuffix(name, "/config.json"); !ok && isConfig && isModelName(model) {
		return nil, fs.ErrNotExist // the error will then be about the model's name
	}
	if !ok {
		return nil, fmt.Errorf("%q is not an upload; a request cannot name files: send the contents of a config.json as model.config, or upload a profile", name)
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

func (s *server) uploadProfile(w http.ResponseWriter, r *http.Request) (any, error) {
	data, err := files.ReadAll(http.MaxBytesReader(w, r.Body, maxProfile), maxProfile)
	if err != nil {
		return nil, tooLarge(err, maxProfile)
	}
	if _, err := estimate.ReadProfile(bytes.NewReader(data)); err != nil {
		return nil, invalid("%w", err)
	}
	return map[string]string{"profile": keep(&s.uploads, &s.uploads.profiles, "upload-", ".snug", data)}, nil
}
