// SPDX-License-Identifier: Apache-2.0

package change

import (
	"bytes"
	"os"
)

// machineID returns the identity that the system got when it was installed. machine-id(5) requires it to be
// kept confidential, so it is only used in a keyed hash.
func machineID() string {
	for _, name := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		if id, err := os.ReadFile(name); err == nil && len(bytes.TrimSpace(id)) > 0 {
			return string(bytes.TrimSpace(id))
		}
	}
	return ""
}
