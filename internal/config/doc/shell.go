// SPDX-License-Identifier: Apache-2.0

package doc

import "errors"

type shellSyntax struct{}

func (shellSyntax) parse([]byte) (*node, error) { return nil, errors.New("shell: not yet") }

func (shellSyntax) render([]byte, *node, any) (string, any, error) {
	return "", nil, errors.New("shell: not yet")
}

func (shellSyntax) insert([]byte, *node, []string, any) ([]splice, error) {
	return nil, errors.New("shell: not yet")
}
