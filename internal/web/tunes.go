// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// Tune is a running or finished tune on this machine.
type Tune struct {
	ID      string          `json:"id"`      // identifies the tune
	At      int64           `json:"at"`      // time of the newest decision, in seconds since 1970
	Running bool            `json:"running"` // the tune is unfinished, or was killed
	Report  json.RawMessage `json:"report"`  // as snug tune --json prints it
}

// tunesAnswer lists the tunes, the newest first.
type tunesAnswer struct {
	Tunes []Tune `json:"tunes"`
}

func (s *server) tunesNow() (tunesAnswer, error) {
	out := tunesAnswer{Tunes: []Tune{}}
	if s.options.Tunes == nil {
		return out, nil
	}
	list, err := s.options.Tunes()
	if err != nil {
		return out, &problem{http.StatusUnprocessableEntity, err.Error()}
	}
	out.Tunes = append(out.Tunes, list...)
	return out, nil
}

func (s *server) tunes(http.ResponseWriter, *http.Request) (any, error) { return s.tunesNow() }

// newTrials is the interval at which the store is checked for changes.
const newTrials = time.Second

// tuneEvents sends the list of tunes at once, and again whenever it changes.
func (s *server) tuneEvents(http.ResponseWriter, *http.Request) (any, error) {
	return stream(func(ctx context.Context, send sender) error {
		t := time.NewTicker(newTrials)
		defer t.Stop()
		var before []byte
		for {
			list, err := s.tunesNow()
			if err != nil {
				return err
			}
			now, err := json.Marshal(list)
			if err != nil {
				return err
			}
			if !bytes.Equal(now, before) {
				if err := send("tunes", list); err != nil {
					return err
				}
				before = now
			}
			select {
			case <-ctx.Done():
				return nil
			case <-t.C:
			}
		}
	}), nil
}
