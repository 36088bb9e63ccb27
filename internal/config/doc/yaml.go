// SPDX-License-Identifier: Apache-2.0

package doc

import "errors"

type yamlSyntax struct{}

func (yamlSyntax) parse([]byte) (*node, error) { return nil, errors.New("yaml: not yet") }

func (yamlSyntax) render([]byte, *node, any) (string, any, error) {
	return "", nil, errors.New("yaml: not yet")
}

func (yamlSyntax) insert([]byte, *node, []string, any) ([]splice, error) {
	return nil, errors.New("yaml: not yet")
}
