// SPDX-License-Identifier: Apache-2.0

//go:build !linux || !(amd64 || arm64) || static

package nvml

import "errors"

// open returns an error: this build has no loader.
func open([]string) (library, func(), error) {
	return nil, nil, errors.New("not included in this build")
}
