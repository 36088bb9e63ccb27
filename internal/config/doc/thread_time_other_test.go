// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package doc

import "time"

var began = time.Now()

// threadTime returns the time since the test began.
func threadTime() time.Duration { return time.Since(began) }
