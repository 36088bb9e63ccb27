// SPDX-License-Identifier: Apache-2.0

package rocm

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"snug/internal/units"
)

// answer returns the JSON in a program's output. Both AMD programs are written in Python and may print warnings
// before the JSON.
func answer(out []byte) ([]byte, error) {
	for rest := out; ; {
		if trimmed := bytes.TrimLeft(rest, " \t\r"); len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') {
			var v json.RawMessage
			if json.NewDecoder(bytes.NewReader(trimmed)).Decode(&v) == nil {
				return v, nil
			}
		}
		next := bytes.IndexByte(rest, '\n')
		if next < 0 {
			return nil, errors.New("no JSON in its output")
		}
		rest = rest[next+1:]
	}
}

// gpuData reads a list of GPUs, which newer versions of amd-smi put into an object under gpu_data.
func gpuData(out []byte, list any) error {
	data, err := answer(out)
	if err != nil {
		return err
	}
	if data[0] == '[' {
		return json.Unmarshal(data, list)
	}
	var object struct {
		List json.RawMessage `json:"gpu_data"`
	}
	if err := json.Unmarshal(data, &object); err != nil {
		return err
	}
	if object.List == nil {
		return errors.New("no gpu_data in its JSON")
	}
	return json.Unmarshal(object.List, list)
}

// amount is a number with its unit, in any of the ways that amd-smi versions write it: {"value": 196592, "unit":
// "MB"}, "196592 MB", 196592, "N/A".
type amount struct {
	n     uint64
	unit  string
	known bool // the amount is a number
}

// UnmarshalJSON reads anything that is not a number as 0.
func (a *amount) UnmarshalJSON(data []byte) error {
	*a = amount{}
	var object struct {
		Value json.RawMessage `json:"value"`
		Unit  string          `json:"unit"`
	}
	if json.Unmarshal(data, &object) == nil && object.Value != nil {
		data, a.unit = object.Value, object.Unit
	}
	text := strings.Trim(string(data), `"`)
	number, unit, _ := strings.Cut(text, " ")
	if unit != "" {
		a.unit = unit
	}
	if n, err := strconv.ParseUint(number, 10, 63); err == nil {
		a.n, a.known = n, true
	}
	return nil
}

// bytes returns the amount in bytes. amd-smi's MB is MiB.
func (a amount) bytes() uint64 {
	scale := uint64(1)
	switch strings.ToUpper(a.unit) {
	case "KB":
		scale = units.KiB
	case "MB":
		scale = units.MiB
	case "GB":
		scale = units.GiB
	}
	if a.n > 1<<62/scale {
		return 0
	}
	return a.n * scale
}
