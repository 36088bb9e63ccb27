// SPDX-License-Identifier: Apache-2.0

package snug

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"snug/internal/setup"
	"snug/internal/spelling"
)

// plainSetup is a Setup without its methods for JSON.
type plainSetup Setup

// MarshalJSON writes the setup with each of its Sizes as a field.
func (s Setup) MarshalJSON() ([]byte, error) {
	data, err := json.Marshal(plainSetup(s))
	if err != nil || len(s.Sizes) == 0 {
		return data, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	for name, size := range s.Sizes {
		if _, taken := fields[name]; !taken {
			fields[name] = fmt.Append(nil, size)
		}
	}
	return json.Marshal(fields)
}

// UnmarshalJSON reads a setup. An unknown field is an error, unless it is a size of a profile.
func (s *Setup) UnmarshalJSON(data []byte) error {
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	fields = setup.WithCurrentNames(fields)
	sizes := takeSizes(fields)
	if err := checkNames(reflect.TypeFor[plainSetup](), fields, ""); err != nil {
		return err
	}
	known, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	var out plainSetup
	if err := json.Unmarshal(known, &out); err != nil {
		return typeError(err)
	}
	*s = Setup(out)
	s.Sizes = sizes
	return nil
}

// takeSizes removes and returns the fields that can only be sizes of the profile used as the model.
func takeSizes(fields map[string]any) map[string]int {
	model, _ := fields["model"].(map[string]any)
	if model["profile"] == nil {
		return nil
	}
	known := jsonNames(reflect.TypeFor[plainSetup]())
	var sizes map[string]int
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		n, number := fields[name].(float64)
		if known[name] != nil || !number || n != math.Trunc(n) || math.Abs(n) > math.MaxInt32 {
			continue
		}
		if sizes == nil {
			sizes = map[string]int{}
		}
		sizes[name] = int(n)
		delete(fields, name)
	}
	return sizes
}

// checkNames returns an error for a field that neither the type nor a nested struct has.
func checkNames(t reflect.Type, fields map[string]any, at string) error {
	known := jsonNames(t)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		of, is := known[name]
		if !is {
			names := slices.Sorted(maps.Keys(known))
			return &FieldError{Field: at + name, Message: fmt.Sprintf("field %q is not known%s", at+name,
				spelling.Hint(name, names, "known: "+strings.Join(names, ", ")))}
		}
		inner, object := fields[name].(map[string]any)
		if object && of.Kind() == reflect.Struct {
			if err := checkNames(of, inner, at+name+"."); err != nil {
				return err
			}
		}
	}
	return nil
}

// jsonNames returns the types of a struct's fields by JSON name.
func jsonNames(t reflect.Type) map[string]reflect.Type {
	if t == reflect.TypeFor[Model]() {
		t = reflect.TypeFor[modelJSON]()
	}
	out := map[string]reflect.Type{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		of := f.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		out[name] = of
	}
	return out
}

// typeError returns a *FieldError for a value of the wrong type.
func typeError(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return &FieldError{Field: wrong.Field, Message: fmt.Sprintf("%s is a %s; it must be %s", wrong.Field, wrong.Value, kindName(wrong.Type))}
	}
	return err
}

// kindName describes the expected kind of a value.
func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Uint64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	case reflect.Slice:
		return "a list of names"
	}
	return "an object"
}

// modelJSON is a Model in JSON.
type modelJSON struct {
	Config  any    `json:"config,omitempty"`
	Name    string `json:"name,omitempty"`
	Profile string `json:"profile,omitempty"`
	Head    Head   `json:"head,omitempty"`
}

// MarshalJSON writes a model, with ConfigFile as a string in place of the config object.
func (m Model) MarshalJSON() ([]byte, error) {
	out := modelJSON{Name: m.Name, Profile: m.Profile, Head: m.Head}
	switch {
	case m.Config != nil && m.ConfigFile != "":
		return nil, &FieldError{Field: "model.config", Message: "model has both a Config and a ConfigFile; keep one"}
	case m.Config != nil:
		out.Config = m.Config
	case m.ConfigFile != "":
		out.Config = m.ConfigFile
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads a model. Its config is an object or the path of a config.json.
func (m *Model) UnmarshalJSON(data []byte) error {
	var in modelJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*m = Model{Name: in.Name, Profile: in.Profile, Head: in.Head}
	switch config := in.Config.(type) {
	case nil:
	case map[string]any:
		m.Config = config
	case string:
		m.ConfigFile = config
	default:
		return &FieldError{Field: "model.config", Message: "model.config must be the contents of a config.json, or the path of one"}
	}
	return nil
}
