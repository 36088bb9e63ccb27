// SPDX-License-Identifier: Apache-2.0

//go:build !linux || !amd64

package crash

// Run is not supported here.
func Run(Program, Fault) (Result, error) { return Result{}, ErrUnsupported }

// Supported reports whether programs can be traced here.
func Supported() bool { return false }
