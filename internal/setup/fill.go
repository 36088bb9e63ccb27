// SPDX-License-Identifier: Apache-2.0

package setup

import "encoding/json"

// Fill checks a setup that a program made and fills in its defaults, as if it
// had been read from a file. The setup itself stays as it is.
func Fill(s *Setup, from Source) (*Setup, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	if name, _ := fields["model"].(map[string]any); name["name"] != nil && name["config"] != nil {
		delete(name, "name") // a model that was looked up already has both
	}
	filled, err := Decode(fields, from)
	if err != nil {
		return nil, err
	}
	filled.Model.Name, filled.Longest = s.Model.Name, filled.Longest || s.Longest
	return filled, nil
}
