// SPDX-License-Identifier: Apache-2.0

package doc

import "errors"

type jsonSyntax struct{}

func (jsonSyntax) parse([]byte) (*node, error) { return nil, errors.New("json: not yet") }

func (jsonSyntax) render([]byte, *node, any) (string, any, error) {
	return "", nil, errors.New("json: not yet")
}

func (jsonSyntax) insert([]byte, *node, []string, any) ([]splice, error) {
	return nil, errors.New("json: not yet")
}
