// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"bytes"
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// A key that is given twice has two values, and parsers disagree on which one counts. So it is an error.

// twice returns the error for a key that is given twice.
func twice(line, column int, key string) error {
	return fmt.Errorf("%d:%d: %q is given twice; keep one", line, column, key)
}

// twiceInJSON returns an error for a key that occurs twice in an object. data is valid JSON, and line is where it
// begins in its file.
func twiceInJSON(data []byte, line int) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	var open []map[string]bool // keys of each open object; nil for an array
	isKey := false
	for {
		from := dec.InputOffset()
		t, err := dec.Token()
		if err != nil {
			return nil // end of input
		}
		switch {
		case t == json.Delim('{'):
			open = append(open, map[string]bool{})
		case t == json.Delim('['):
			open = append(open, nil)
		case t == json.Delim('}') || t == json.Delim(']'):
			open = open[:len(open)-1]
		case isKey:
			key := t.(string)
			if last := open[len(open)-1]; !last[key] {
				last[key], isKey = true, false
				continue
			}
			at := int(from) + bytes.IndexByte(data[from:], '"')
			return twice(line+bytes.Count(data[:at], []byte("\n")), at-bytes.LastIndexByte(data[:at], '\n'), key)
		}
		isKey = len(open) > 0 && open[len(open)-1] != nil // in an object, a key follows the opening brace or a value
	}
}

// twiceInYAML returns an error for a key that occurs twice in a map. The target of an alias is checked where it is
// defined.
func twiceInYAML(n *yaml.Node) error {
	seen := map[string]bool{}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && c.Kind == yaml.ScalarNode && c.Tag != "!!merge" {
			if seen[c.Value] {
				return twice(c.Line, c.Column, c.Value)
			}
			seen[c.Value] = true
		}
		if err := twiceInYAML(c); err != nil {
			return err
		}
	}
	return nil
}
