// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !darwin

package change

// machineID returns "" because the identity is unknown here; the host's name is used instead.
func machineID() string { return "" }
