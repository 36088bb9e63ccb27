// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// A file of setups is one of three things, told apart by how its lines begin:
// JSON Lines, where every line is an object of its own; one JSON object over
// several lines; or YAML, one document a setup.

// Raw is one setup as it stands in a file: decoded, not yet understood. Numbers
// are float64 whatever the format.
type Raw struct {
	Fields map[string]any
	Line   int   // where it begins
	Err    error // why it could not be decoded
}

// most is a bound on the size of a file of setups.
const most = 256 << 20

// Read takes a file of setups apart. A setup that cannot be decoded has its Err;
// the error is for a file that cannot be read at all or holds no setup.
func Read(r io.Reader) ([]Raw, error) {
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, err
	}
	if len(data) > most {
		return nil, fmt.Errorf("more than %d MiB of setups", most>>20)
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // a byte order mark
	if isBinary(data) {
		return nil, errors.New("it is not text; a setup is JSON or YAML")
	}
	var out []Raw
	switch {
	case jsonLines(data):
		out = readLines(data)
	case bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")), bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("[")):
		out = []Raw{readJSON(data, 1)}
	default:
		out = readYAML(data)
	}
	if len(out) == 0 {
		return nil, errors.New("there is no setup in it")
	}
	return out, nil
}

// isBinary tells what is no text of any kind. UTF-16, which some editors write,
// is one that YAML knows.
func isBinary(data []byte) bool {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return false
	}
	return bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data)
}

// jsonLines tells whether a file has an object a line. One whole object in a line
// of its own is enough, so that a line that is no JSON is that line's mistake alone;
// so is that every line begins one.
func jsonLines(data []byte) bool {
	if json.Valid(data) || bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		return false
	}
	some, all := false, true
	for line := range bytes.Lines(data) {
		switch {
		case len(bytes.TrimSpace(line)) == 0:
			continue
		case line[0] == '{' && json.Valid(line):
			return true
		}
		some, all = true, all && bytes.TrimSpace(line)[0] == '{'
	}
	return some && all
}

func readLines(data []byte) []Raw {
	var out []Raw
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if len(bytes.TrimSpace(line)) > 0 {
			out = append(out, readJSON(line, n))
		}
	}
	return out
}

// readJSON decodes one object. Line is where data begins in its file.
func readJSON(data []byte, line int) Raw {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return Raw{Line: line, Err: jsonError(data, line, err)}
	}
	return raw(v, line)
}

// jsonError says where the JSON breaks off, and why.
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
			return fmt.Errorf("%d:%d: %s is not a number in JSON; write one", line, column, word)
		}
	}
	return fmt.Errorf("%d:%d: not JSON: %w", line, column, err)
}

// readYAML decodes each document.
func readYAML(data []byte) []Raw {
	var out []Raw
	for dec := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var node yaml.Node
		err := dec.Decode(&node)
		if errors.Is(err, io.EOF) {
			return out
		}
		var v any
		if err == nil {
			err = node.Decode(&v)
		}
		if err != nil {
			return append(out, Raw{Line: max(node.Line, 1), Err: yamlError(err)})
		}
		if v != nil {
			out = append(out, raw(plain(v), node.Line))
		}
	}
}

func yamlError(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		if n, what, ok := strings.Cut(rest, ": "); ok {
			return fmt.Errorf("%s: not YAML: %s", n, what)
		}
	}
	return fmt.Errorf(" not YAML: %s", text)
}

// plain turns what YAML decodes to into what JSON would have given.
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
		return fmt.Sprint(v) // a time stamp
	}
}

func raw(v any, line int) Raw {
	fields, ok := v.(map[string]any)
	if !ok {
		return Raw{Line: line, Err: fmt.Errorf("%d: a setup is an object, not %s; for many, write one JSON object a line", line, show(orNull(v)))}
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
