// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"snug/internal/plan"
	"snug/internal/setup"
)

// schema is a JSON Schema.
type schema map[string]any

// openAPI describes the API. Paths come from the list of routes, requests from the table of settings, and answers
// from the Go types, so the description cannot differ from what is served.
func (s *server) openAPI(http.ResponseWriter, *http.Request) (any, error) {
	paths := map[string]schema{}
	for _, r := range s.list() {
		at := paths[API+r.path]
		if at == nil {
			at = schema{}
			paths[API+r.path] = at
		}
		at[strings.ToLower(r.method)] = operation(r)
	}
	return schema{
		"openapi":    "3.1.0",
		"info":       schema{"title": "snug", "version": s.options.Version, "description": "How much GPU memory a PyTorch training run takes, and which settings fit it best. Sizes are bytes."},
		"paths":      paths,
		"components": schema{"schemas": schemas()},
	}, nil
}

func ref(name string) schema { return schema{"$ref": "#/components/schemas/" + name} }

func operation(r route) schema {
	content := func(name string) schema {
		if name == "Bytes" {
			return schema{"application/octet-stream": schema{"schema": schema{"type": "string", "format": "binary"}}}
		}
		if name == "Events" {
			return schema{"text/event-stream": schema{"schema": schema{"description": "server-sent events with JSON data"}}}
		}
		return schema{"application/json": schema{"schema": ref(name)}}
	}
	problems := schema{"description": "What is wrong, and what to do", "content": content("Problem")}
	out := schema{
		"summary": r.what,
		"responses": schema{
			"200": schema{"description": "The answer", "content": content(r.answer)},
			"400": problems, "401": problems, "403": problems, "404": problems, "405": problems, "413": problems, "421": problems,
			"422": problems, "429": problems, "503": problems,
		},
	}
	if r.question != "" {
		out["requestBody"] = schema{"required": true, "content": content(r.question)}
	}
	if p := parameters(r.path); p != nil {
		out["parameters"] = p
	}
	return out
}

// parameters describes the path and query parameters of an address.
func parameters(path string) []schema {
	var out []schema
	if strings.Contains(path, "{id}") {
		out = append(out, schema{"name": "id", "in": "path", "required": true, "schema": schema{"type": "string"}})
	}
	switch path {
	case "/snapshots/{id}/replay":
		out = append(out, schema{"name": "conf", "in": "query", "schema": schema{"type": "string"}, "description": "a PYTORCH_CUDA_ALLOC_CONF string; without it, all settings worth trying"})
	case "/watch/{id}":
		out = append(out, schema{"name": "speed", "in": "query", "schema": schema{"type": "number", "minimum": 0, "maximum": mostSpeed}, "description": "replay speed, as a multiple of the run's own; 0 replays without waiting"})
	case "/models":
		out = append(out, schema{"name": "q", "in": "query", "schema": schema{"type": "string"}, "description": "words that the name contains"})
	}
	return out
}

// schemas returns the named schemas.
func schemas() map[string]schema {
	out := map[string]schema{
		"Setup":    setupSchema(),
		"Settings": object(map[string]schema{"settings": listOf(typeSchema(reflect.TypeFor[settingAnswer]())), "version": {"type": "string"}}),
		"Models":   object(map[string]schema{"models": listOf(typeSchema(reflect.TypeFor[setup.KnownModel]()))}),
		"Cards":    object(map[string]schema{"cards": listOf(typeSchema(reflect.TypeFor[cardAnswer]())), "here": {"type": "string"}}),
		"Live":     object(map[string]schema{"sources": listOf(typeSchema(reflect.TypeFor[liveAnswer]()))}),
		"Upload":   object(map[string]schema{"profile": {"type": "string"}}),
		"Problem":  object(map[string]schema{"error": {"type": "string"}}),
		"OpenAPI":  {"type": "object"},
	}
	for name, of := range map[string]reflect.Type{
		"Estimate": reflect.TypeFor[estimateAnswer](), "MaxBatch": reflect.TypeFor[maxAnswer](), "Timeline": reflect.TypeFor[timelineAnswer](),
		"Curve": reflect.TypeFor[curveAnswer](), "Plan": reflect.TypeFor[planAnswer](), "Comparison": reflect.TypeFor[comparison](),
		"Recording": reflect.TypeFor[recordingAnswer](), "Tunes": reflect.TypeFor[tunesAnswer](),
		"Snapshot": reflect.TypeFor[snapshotAnswer](), "Replay": reflect.TypeFor[replayAnswer](),
	} {
		out[name] = typeSchema(of)
	}
	question := map[string]schema{
		"setup": ref("Setup"), "gpu": {"type": "string", "description": "the name of a card"},
		"gpu_memory": {"type": []string{"number", "string"}, "description": "24 for a card sold as 24 GB, or a size such as 24GiB"},
	}
	out["Question"] = required(question, "setup")
	more := maps.Clone(question)
	more["target_effective_batch"] = schema{"type": "integer", "minimum": 0, "maximum": 1 << 30}
	more["goal"] = schema{"type": "string", "enum": plan.Goals}
	more["lock"], more["allow"] = listOf(schema{"type": "string"}), listOf(schema{"type": "string"})
	out["PlanQuestion"] = required(more, "setup")
	return out
}

// setupSchema describes a setup, from the table of settings.
func setupSchema() schema {
	fields := map[string]schema{
		"id":    {"type": "string"},
		"model": modelSchema(),
	}
	for _, x := range setup.Settings() {
		outer, inner, nested := strings.Cut(x.Name, ".")
		if outer == "model" {
			continue
		}
		if !nested {
			fields[outer] = settingSchema(x)
			continue
		}
		if fields[outer] == nil {
			fields[outer] = schema{"type": "object", "properties": map[string]schema{}, "additionalProperties": false}
		}
		if inside, ok := fields[outer]["properties"].(map[string]schema); ok {
			inside[inner] = settingSchema(x)
		}
	}
	return required(fields, "model")
}

// modelSchema describes a model. A request gives its name, the contents of a config.json, or the name of an upload, and
// may add settings of the model, such as its head.
func modelSchema() schema {
	fields := map[string]schema{
		"name":    {"type": "string", "description": "a name that /models lists", "examples": []string{"gpt2", "bert-base", "llama-3.2-1b"}},
		"config":  {"type": "object", "description": "the contents of a config.json", "examples": []schema{{"model_type": "gpt2", "n_layer": 2}}},
		"profile": {"type": "string", "description": "the name that an upload to /profiles returned"},
	}
	var one []schema
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		one = append(one, schema{"required": []string{name}})
	}
	for _, x := range setup.Settings() {
		if name, is := strings.CutPrefix(x.Name, "model."); is {
			fields[name] = settingSchema(x)
		}
	}
	return schema{"type": "object", "properties": fields, "oneOf": one, "additionalProperties": false}
}

func settingSchema(x *setup.Setting) schema {
	out := schema{"description": strings.ReplaceAll(x.What, "`", "")}
	switch x.Kind() {
	case setup.Whole:
		out["type"] = "integer"
		out["minimum"], out["maximum"] = x.Least, x.Most
	case setup.Number:
		out["type"] = "number"
		out["minimum"], out["maximum"] = x.Least, x.Most
	case setup.Switch:
		out["type"] = "boolean"
	case setup.Names:
		out["type"], out["items"] = "array", schema{"type": "string"}
		if x.Words != nil {
			out["items"] = schema{"type": "string", "enum": x.Words}
		}
	case setup.Bytes:
		out["type"] = []string{"integer", "string"}
	case setup.Word, setup.Text:
		out["type"] = "string"
		if x.Words != nil {
			out["enum"] = x.Words
		}
	}
	if x.Default != nil {
		out["default"] = x.Default
	}
	return out
}

func object(properties map[string]schema) schema {
	return required(properties, slices.Sorted(maps.Keys(properties))...)
}

func required(properties map[string]schema, names ...string) schema {
	return schema{"type": "object", "properties": properties, "required": names, "additionalProperties": false}
}

func listOf(items schema) schema { return schema{"type": "array", "items": items} }

var marshaler = reflect.TypeFor[json.Marshaler]()

// typeSchema describes a type's JSON form.
func typeSchema(t reflect.Type) schema {
	if t.Kind() == reflect.Pointer {
		return typeSchema(t.Elem())
	}
	if t.Implements(marshaler) {
		return schema{} // it has its own JSON form
	}
	switch t.Kind() {
	case reflect.Struct:
		properties := map[string]schema{}
		addFields(properties, t)
		return schema{"type": "object", "properties": properties}
	case reflect.Slice, reflect.Array:
		return listOf(typeSchema(t.Elem()))
	case reflect.Map:
		return schema{"type": "object", "additionalProperties": typeSchema(t.Elem())}
	case reflect.String:
		return schema{"type": "string"}
	case reflect.Bool:
		return schema{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return schema{"type": "number"}
	case reflect.Interface:
		return schema{}
	}
	return schema{"type": "integer"}
}

// addFields adds a struct's fields, including those of embedded structs.
func addFields(properties map[string]schema, t reflect.Type) {
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" || !f.IsExported() {
			continue
		}
		properties[name] = typeSchema(f.Type)
		if f.Type.Kind() == reflect.Pointer && !strings.Contains(options, "omitempty") {
			properties[name] = schema{"anyOf": []schema{properties[name], {"type": "null"}}}
		}
	}
}
