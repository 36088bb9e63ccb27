// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64) && !static

package nvml

import (
	"errors"
	"fmt"

	"github.com/ebitengine/purego"
)

// usual lists where the driver's library is: on the linker's path, and where WSL keeps it.
var usual = []string{"libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1"}

// open loads the library and finds its functions. Missing functions stay nil and are never called.
func open(paths []string) (library, func(), error) {
	if paths == nil {
		paths = usual
	}
	for _, path := range paths {
		lib, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err != nil {
			continue
		}
		f := &functions{}
		for name, fn := range f.table() {
			if address, err := purego.Dlsym(lib, name); err == nil {
				purego.RegisterFunc(fn, address)
			}
		}
		unload := func() { _ = purego.Dlclose(lib) }
		if f.init == nil || f.count == nil || f.handleByIndex == nil {
			unload()
			return nil, nil, fmt.Errorf("%s lacks NVML's functions", path)
		}
		return f, unload, nil
	}
	return nil, nil, errors.New("libnvidia-ml.so.1 is not installed")
}
