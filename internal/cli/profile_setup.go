// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"path/filepath"

	"snug/internal/profile"
	"snug/internal/record"
	"snug/internal/setup"
)

// readReference reads the setup given with --setup before anything runs, so that mistakes in it are reported
// first. Without --setup there is nothing to compare with.
func readReference(env Env, file string, at profile.Point) (*record.Reference, error) {
	if file == "" {
		return nil, nil
	}
	in, err := env.open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	name := file
	if name == "-" {
		name = "standard input"
	}
	raws, err := setup.Read(in)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", name, reason(err))
	case len(raws) != 1:
		return nil, fmt.Errorf("%s contains %d setups; give one", name, len(raws))
	case raws[0].Err != nil:
		return nil, fmt.Errorf("%s:%w", name, raws[0].Err)
	}
	r := record.NewReference(raws[0].Fields, setup.Source{Open: env.find, Hub: hub(env.Getenv), Base: filepath.Dir(file)})
	if err := r.Check(at); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}
