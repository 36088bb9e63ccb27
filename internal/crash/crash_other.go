// SPDX-License-Identifier: Apache-2.0

//go:build !linux || !amd64

package crash

// Run returns ErrUnsupported here.
func Run(Program, Fault) (Result, error) { return Result{}, ErrUnsupported }

// Supported returns false: programs cannot be traced here.
func Supported() bool { return false }
