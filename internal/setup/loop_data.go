// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"io/fs"
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"snug/internal/files"
)

// maxLoopData limits the size of files that a script opens, such as settings and short texts. Larger files are not read.
const maxLoopData = 4 << 20

// texts returns a function that reads the files that a script opens, with paths relative to the same folder as the
// setup's.
func texts(from Source) func(path string) (string, error) {
	return func(path string) (string, error) {
		if from.Open == nil {
			return "", fs.ErrNotExist
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(from.Base, path)
		}
		in, err := from.Open(path)
		if err != nil {
			return "", err
		}
		defer in.Close()
		text, err := files.ReadAll(in, maxLoopData)
		return string(text), err
	}
}

// DecodeYAML decodes a YAML document like yaml.safe_load in a script.
func DecodeYAML(text string) (v any, err error) {
	err = yaml.Unmarshal([]byte(text), &v)
	return v, err
}
