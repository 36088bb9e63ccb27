// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !darwin

package change

// machineID is unknown here: the host's name has to do.
func machineID() string { return "" }
