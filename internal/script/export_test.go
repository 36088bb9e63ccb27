// SPDX-License-Identifier: Apache-2.0

package script

// LimitStatements sets the number of statements that a script may run, and returns a function that restores the
// previous limit.
func LimitStatements(n int) (restore func()) {
	old := maxStatements
	maxStatements = n
	return func() { maxStatements = old }
}
