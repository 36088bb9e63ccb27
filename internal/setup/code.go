// SPDX-License-Identifier: Apache-2.0

package setup

import "errors"

// checkCode checks a setup whose model is built by the loop's script.
func (s *Setup) checkCode() error {
	if !ReadsScript(s.Loop) {
		return Wrong("{model.code} means that a script builds the model; name the script with {loop}")
	}
	return nil
}

// learnCode looks for a model that the loop's script builds itself, from PyTorch's modules. The survey so far has found
// none of another library. It returns nil if there is no such model, or if it cannot be followed.
func (from Source) learnCode(s *Setup, seen Survey, err error) (map[string]any, Sighting) {
	if seen.Open != "" || errors.Is(err, ErrUnknownModel) {
		return nil, Sighting{}
	}
	own := *s
	own.Model = Model{Code: true}
	if again, err := from.Survey(&own); err != nil || !again.Code {
		return nil, Sighting{}
	}
	return map[string]any{"code": true}, Sighting{Name: "its own", Where: s.loopName()}
}
