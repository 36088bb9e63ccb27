// SPDX-License-Identifier: Apache-2.0

//go:build !unix && !windows

package filelock

import "os"

func try(*os.File) error { return ErrUnsupported }
