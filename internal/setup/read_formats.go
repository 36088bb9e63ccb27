// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"go.yaml.in/yaml/v3"
)

// readJSON decodes one object. line is where data begins in its file.
func readJSON(data []byte, line int) Raw {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return Raw{Line: line, Err: jsonError(data, line, err)}
	}
	if err := twiceInJSON(data, line); err != nil {
		return Raw{Line: line, Err: err}
	}
	return raw(v, line)
}

// jsonError returns an error that says where the JSON is invalid, and why.
func jsonError(data []byte, line int, err error) error {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return err
	}
	at := int(min(max(syntax.Offset-1, 0), int64(len(data))))
	line += bytes.Count(data[:at], []byte("\n"))
	column := at - bytes.LastIndexByte(data[:at], '\n')
	rest := data[at:]
	for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
		if bytes.HasPrefix(rest, []byte(word)) || bytes.HasPrefix(data[max(at-1, 0):], []byte(word)) {
			return fmt.Errorf("%d:%d: %s is not a valid JSON number", line, column, word)
		}
	}
	return fmt.Errorf("%d:%d: not JSON: %w", line, column, err)
}

// readYAML returns a function that decodes one document after another.
func readYAML(data []byte) func() (Raw, error) {
	dec, broken := yaml.NewDecoder(bytes.NewReader(data)), false
	return func() (Raw, error) {
		for !broken {
			var node yaml.Node
			err := dec.Decode(&node)
			if errors.Is(err, io.EOF) {
				break
			}
			var v any
			if err == nil {
				err = cmp.Or(twiceInYAML(&node), yamlError(node.Decode(&v)))
			} else {
				err = yamlError(err)
			}
			if err != nil {
				broken = true
				return Raw{Line: max(node.Line, 1), Err: err}, nil
			}
			if v != nil {
				out := raw(plain(v), node.Line)
				out.Lines = map[string]int{}
				linesOf(&node, "", out.Lines)
				return out, nil
			}
		}
		return Raw{}, io.EOF
	}
}

// linesOf adds the lines of a document's fields to lines.
func linesOf(node *yaml.Node, prefix string, lines map[string]int) {
	if node.Kind == yaml.DocumentNode && len(node.Content) > 0 {
		node = node.Content[0]
	}
	if node.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name := prefix + node.Content[i].Value
		lines[name] = node.Content[i].Line
		linesOf(node.Content[i+1], name+".", lines)
	}
}

func yamlError(err error) error {
	if err == nil {
		return nil
	}
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		if n, what, ok := strings.Cut(rest, ": "); ok {
			return fmt.Errorf("%s: not YAML: %s", n, what)
		}
	}
	return fmt.Errorf(" not YAML: %s", text)
}

// plain converts decoded YAML to the values that decoded JSON would have.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = plain(x)
		}
		return v
	case map[any]any:
		out := map[string]any{}
		for k, x := range v {
			out[fmt.Sprint(k)] = plain(x)
		}
		return out
	case []any:
		for i, x := range v {
			v[i] = plain(x)
		}
		return v
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	case string, bool, float64, nil:
		return v
	default:
		return fmt.Sprint(v) // a timestamp
	}
}

func raw(v any, line int) Raw {
	fields, ok := v.(map[string]any)
	if !ok {
		return Raw{Line: line, Err: fmt.Errorf("%d: a setup is an object, not %s; for several setups, write one JSON object per line", line, show(orNull(v)))}
	}
	return Raw{Fields: fields, Line: line}
}

func orNull(v any) any {
	if f, ok := v.(float64); ok && math.IsNaN(f) {
		return "NaN"
	}
	if v == nil {
		return "null"
	}
	return v
}
