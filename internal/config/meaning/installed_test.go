// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"testing"
	"testing/fstest"
)

func TestInstalled(t *testing.T) {
	for name, want := range map[string]string{
		".venv/lib/python3.11/site-packages/transformers-4.57.1.dist-info/METADATA": "4.57.1",
		"venv/lib/python3.13t/site-packages/transformers-5.22.2.dist-info/RECORD":   "5.22.2",
		"env/Lib/site-packages/transformers-5.0.dist-info/METADATA":                 "5.0",
		".venv/lib/python3.11/site-packages/transformers-3.5.1.dist-info/METADATA":  "", // an unsupported version
		".venv/lib/python3.11/site-packages/transformers-6.0.0.dist-info/METADATA":  "",
		".venv/lib/python3.11/site-packages/transformers-5.dist-info/METADATA":      "",
		".venv/lib/python3.11/site-packages/transformers_js-4.1.dist-info/METADATA": "",
		".venv/lib/python2.7/site-packages/transformers-4.57.1.dist-info/METADATA":  "",
		".venv/lib": "", // a file
	} {
		if got := installed(fstest.MapFS{name: {}}, transformersInfo); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestInstalledBitsAndBytes(t *testing.T) {
	for version, want := range map[string]string{"0.50.2": "0.50.2", "0.43.0": "0.43.0", "0.42.0": "", "0.51.0": "", "1.0.0": ""} {
		name := ".venv/lib/python3.11/site-packages/bitsandbytes-" + version + ".dist-info/METADATA"
		if got := installed(fstest.MapFS{name: {}}, bnbInfo); got != want {
			t.Errorf("%s: %q, want %q", version, got, want)
		}
	}
}
