// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"path"
	"slices"
	"strings"

	"snug/internal/catalog"
	"snug/internal/family"
)

// KnownModel is a model that is known by name.
type KnownModel struct {
	Name   string `json:"name"`             // as users write it
	Hub    string `json:"hub,omitempty"`    // its name on the Hugging Face hub
	Type   string `json:"model_type"`       // as in its config.json; "torchvision" for torchvision models
	Params int    `json:"params,omitempty"` // number of parameters, as published
}

// KnownModels returns the models whose names contain all words of a query.
func KnownModels(query string) []KnownModel {
	var out []KnownModel
	like := catalog.Like(query)
	for _, e := range catalog.Entries() {
		if query == "" || slices.Contains(like, e.Name) {
			kind, _ := e.Config["model_type"].(string)
			out = append(out, KnownModel{e.Name, e.Hub, kind, e.Params})
		}
	}
	for _, name := range family.NamedModels() {
		if strings.Contains(name, strings.ToLower(query)) {
			out = append(out, KnownModel{Name: name, Type: path.Dir(name)})
		}
	}
	return out
}
