// SPDX-License-Identifier: Apache-2.0

package script

import "fmt"

// checkBatch stops a script whose batch size does not depend on the setup: its figures would be the same
// for every batch.
func (in *interpreter) checkBatch() {
	if in.asked || in.rows0 == 0 || in.rows0 == in.Batch {
		return
	}
	panic(failure{path: in.File.Path, at: in.rowsAt, text: fmt.Sprintf("the script's own batch is %d here, whatever the setup says; ask for a batch of %d, or let the script take it from an argument such as --batch-size", in.rows0, in.rows0)})
}
