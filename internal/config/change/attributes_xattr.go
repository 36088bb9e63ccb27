// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin || freebsd || netbsd

package change

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// copyAttributes gives a new file the owner, the access list and the extended attributes of the file that
// it replaces. On Linux an access list is an attribute too.
func copyAttributes(to, from *os.File) error {
	if err := copyOwner(to, from); err != nil {
		return fmt.Errorf("its owner cannot be kept: %w", plainError(err))
	}
	names, err := attributeNames(int(from.Fd()))
	if err != nil {
		return fmt.Errorf("its attributes cannot be read: %w", err)
	}
	for _, name := range names {
		value, err := attribute(int(from.Fd()), name)
		if err == nil {
			err = unix.Fsetxattr(int(to.Fd()), name, value, 0)
		}
		if err != nil && !givenBySystem(name) {
			return fmt.Errorf("its attribute %s cannot be kept: %w", name, err)
		}
	}
	return nil
}

// givenBySystem reports whether the system sets the attribute on new files itself, so that failing to copy it
// loses nothing.
func givenBySystem(name string) bool {
	return strings.HasPrefix(name, "security.") || strings.HasPrefix(name, "trusted.") || strings.HasPrefix(name, "com.apple.")
}

func attributeNames(fd int) ([]string, error) {
	size, err := unix.Flistxattr(fd, nil)
	if errors.Is(err, unix.ENOTSUP) || err == nil && size == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list := make([]byte, size)
	if size, err = unix.Flistxattr(fd, list); err != nil {
		return nil, err
	}
	return strings.FieldsFunc(string(list[:size]), func(r rune) bool { return r == 0 }), nil
}

func attribute(fd int, name string) ([]byte, error) {
	size, err := unix.Fgetxattr(fd, name, nil)
	if err != nil {
		return nil, err
	}
	value := make([]byte, size)
	size, err = unix.Fgetxattr(fd, name, value)
	return value[:max(size, 0)], err
}
