// SPDX-License-Identifier: Apache-2.0

package doc

import "errors"

type pythonSyntax struct{}

func (pythonSyntax) parse([]byte) (*node, error) { return nil, errors.New("python: not yet") }

func (pythonSyntax) render([]byte, *node, any) (string, any, error) {
	return "", nil, errors.New("python: not yet")
}

func (pythonSyntax) insert([]byte, *node, []string, any) ([]splice, error) {
	return nil, errors.New("python: not yet")
}
