// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"

	"modernc.org/sqlite" // also the driver, registered as "sqlite"
)

// The SQLite result codes that a user can do something about (sqlite.org/rescode.html); the lowest byte is the kind.
const (
	busy     = 5
	locked   = 6
	readOnly = 8
	ioError  = 10
	corrupt  = 11
	full     = 13
	cantOpen = 14
	notADB   = 26
)

var errDamaged = errors.New("it is damaged")

// failed returns an error with the file and what to do.
func failed(path string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the measurement store %s did not answer in time: it is in use by another process, or the machine is busy; try again later", path)
	}
	kind := 0
	var own *sqlite.Error
	if errors.As(err, &own) {
		kind = own.Code() & 0xff
	}
	switch kind {
	case busy, locked:
		return fmt.Errorf("the measurement store %s is in use by another process; try again when that is done", path)
	case readOnly:
		return fmt.Errorf("the measurement store %s is read-only; set SNUG_STORE to use another", path)
	case full:
		return fmt.Errorf("writing the measurement store %s: no space left on its disk", path)
	case ioError, cantOpen:
		return fmt.Errorf("the measurement store %s cannot be read or written (%w); set SNUG_STORE to use another", path, err)
	case corrupt:
		err = errDamaged
	case notADB:
		err = errors.New("it is not a database")
	}
	return fmt.Errorf("%s cannot be used as the measurement store: %w; move it away, or set SNUG_STORE", path, err)
}
