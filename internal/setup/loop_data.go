// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"io/fs"
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"snug/internal/files"
)

// maxLoopData limits the files of settings that a script opens. Larger ones are data, and not read.
const maxLoopData = 1 << 20

// texts reads the files that a script opens, with paths relative to the folder that the setup's are relative to.
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

// DecodeYAML decodes a YAML document, as a script does with yaml.safe_load.
func DecodeYAML(text string) (v any, err error) {
	err = yaml.Unmarshal([]byte(text), &v)
	return v, err
}
