// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !darwin

package change

// machineID is unknown here; the host's name is used instead.
func machineID() string { return "" }
