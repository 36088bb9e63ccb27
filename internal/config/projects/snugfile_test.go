// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"strings"
	"testing"
)

func TestSnugFileCommand(t *testing.T) {
	for text, want := range map[string]string{
		"command: python train.py --bs {batch}":          "python|train.py|--bs|{batch}",
		"command: [python, train.py, --name, two words]": "python|train.py|--name|two words",
		"files: []": "",
	} {
		own, err := ParseSnugFile([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := strings.Join(own.Command, "|"); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"command: python train.py > log": "snug.yaml:1:10: command contains shell syntax",
		"command: {a: 1}":                "command",
	} {
		if _, err := ParseSnugFile([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
