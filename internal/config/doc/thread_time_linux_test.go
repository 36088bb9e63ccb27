// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime returns the time that this thread has used a processor. Other programs on the machine do not count.
func threadTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic(err)
	}
	return time.Duration(ts.Nano())
}
