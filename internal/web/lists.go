// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"strings"

	"snug/internal/gpu"
	"snug/internal/setup"
)

func (s *server) models(_ http.ResponseWriter, r *http.Request) (any, error) {
	list := setup.KnownModels(r.URL.Query().Get("q"))
	if list == nil {
		list = []setup.KnownModel{}
	}
	return map[string]any{"models": list}, nil
}

// cardAnswer is a card that can be planned for.
type cardAnswer struct {
	Name       string    `json:"name"`
	Maker      gpu.Maker `json:"maker"`
	MemoryGB   int       `json:"memory_gb"`
	Total      uint64    `json:"total"`
	Precisions []string  `json:"precisions"`
}

func (s *server) cards(http.ResponseWriter, *http.Request) (any, error) {
	out := []cardAnswer{}
	for _, c := range gpu.Cards() {
		out = append(out, cardAnswer{c.Name, c.Maker, c.Memory, c.Total, c.Precisions()})
	}
	here := ""
	if s.options.Here != nil {
		here = s.options.Here.Name
	}
	return map[string]any{"cards": out, "here": here}, nil
}

// settingAnswer is one setting, for a control on the page.
type settingAnswer struct {
	Name    string       `json:"name"`
	Flag    string       `json:"flag,omitempty"`  // the flag that takes its value
	Flags   []flagAnswer `json:"flags,omitempty"` // flags without an argument
	Kind    setup.Kind   `json:"kind"`
	What    string       `json:"what"`
	Words   []string     `json:"words,omitempty"`
	Default any          `json:"default,omitempty"`
	Least   float64      `json:"least,omitempty"`
	Most    float64      `json:"most,omitempty"`

	Undecided bool `json:"undecided,omitempty"` // without a value, neither true nor false
}

// flagAnswer is a flag that stands for one value of a setting.
type flagAnswer struct {
	Flag  string `json:"flag"`
	Means any    `json:"means"`
}

func (s *server) settings(http.ResponseWriter, *http.Request) (any, error) {
	out := []settingAnswer{}
	for _, x := range setup.Settings() {
		a := settingAnswer{Name: x.Name, Kind: x.Kind(), What: strings.ReplaceAll(x.What, "`", ""), Words: x.Words, Default: x.Default, Least: x.Least, Most: x.Most, Undecided: x.Undecided()}
		for _, f := range x.Flags {
			if f.Means != nil {
				a.Flags = append(a.Flags, flagAnswer{"--" + f.Name, f.Means})
			} else if a.Flag == "" {
				a.Flag = "--" + f.Name
			}
		}
		out = append(out, a)
	}
	return map[string]any{"settings": out, "version": s.options.Version}, nil
}
