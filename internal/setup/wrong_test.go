// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"errors"
	"testing"
)

func TestFieldErrorNamed(t *testing.T) {
	flags := func(field string) string { return "--" + field }
	for _, c := range []struct {
		err                *FieldError
		field, plain, flag string
	}{
		{Wrong("{batch} is %d", 0), "batch", "batch is 0", "--batch is 0"},
		{Wrong("{dist.kind} %q and {dist.world} %d", "{seq}", 2), "dist.kind", `dist.kind "{seq}" and dist.world 2`, `--dist.kind "{seq}" and --dist.world 2`},
		{Wrong("as in {kind: ddp}"), "", "as in {kind: ddp}", "as in {kind: ddp}"},
	} {
		if c.err.Field != c.field || c.err.Error() != c.plain || c.err.Named(flags) != c.flag {
			t.Errorf("field %q, %q and %q; want %q, %q and %q", c.err.Field, c.err.Error(), c.err.Named(flags), c.field, c.plain, c.flag)
		}
	}
}

// TestErrUnknownModel checks that only errors that a recording can solve wrap ErrUnknownModel.
func TestErrUnknownModel(t *testing.T) {
	for _, c := range []struct {
		name    string
		fields  map[string]any
		unknown bool
	}{
		{"no model", map[string]any{"batch": 1.0}, true},
		{"a name", map[string]any{"batch": 1.0, "model": map[string]any{"name": "nobody/knows"}}, true},
		{"code", map[string]any{"batch": 1.0, "model": map[string]any{"custom": "mine"}}, true},
		{"a model without a source", map[string]any{"batch": 1.0, "model": map[string]any{}}, true},
		{"a head", map[string]any{"batch": 1.0, "model": map[string]any{"config": map[string]any{"model_type": "gpt2", "architectures": []any{"GPT2ForFun"}}}}, true},
		{"two models", map[string]any{"batch": 1.0, "model": map[string]any{"name": "gpt2", "config": map[string]any{}}}, false},
		{"a batch", map[string]any{"batch": 0.0, "model": map[string]any{"name": "nobody/knows"}}, false},
		{"a file", map[string]any{"batch": 1.0, "model": map[string]any{"config": "missing.json"}}, false},
	} {
		_, err := Decode(c.fields, Source{})
		if err == nil || errors.Is(err, ErrUnknownModel) != c.unknown {
			t.Errorf("%s: %v, an unknown model: %v, want %v", c.name, err, errors.Is(err, ErrUnknownModel), c.unknown)
		}
	}
}
