// SPDX-License-Identifier: Apache-2.0

package doc

import "errors"

type tomlSyntax struct{}

func (tomlSyntax) parse([]byte) (*node, error) { return nil, errors.New("toml: not yet") }

func (tomlSyntax) render([]byte, *node, any) (string, any, error) {
	return "", nil, errors.New("toml: not yet")
}

func (tomlSyntax) insert([]byte, *node, []string, any) ([]splice, error) {
	return nil, errors.New("toml: not yet")
}
