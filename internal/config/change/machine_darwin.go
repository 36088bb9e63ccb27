// SPDX-License-Identifier: Apache-2.0

package change

import "syscall"

// machineID returns the identity of the running system's installation.
func machineID() string {
	id, _ := syscall.Sysctl("kern.uuid")
	return id
}
