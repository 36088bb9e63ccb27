// SPDX-License-Identifier: Apache-2.0

//go:build !linux || !amd64

package crash

// Run returns ErrUnsupported on this platform.
func Run(Program, Fault) (Result, error) { return Result{}, ErrUnsupported }

// Supported returns false, because programs cannot be traced on this platform.
func Supported() bool { return false }
