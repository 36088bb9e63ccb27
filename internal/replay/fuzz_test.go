// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"os"
	"testing"

	"snug/internal/snapshot"
)

// FuzzRun replays anything that can be read. A recording that contradicts itself is an error or a mismatch, never a
// panic.
func FuzzRun(f *testing.F) {
	f.Add([]byte("\x80\x04}(\x8c\x08segments](}(\x8c\x07addressJ\x00\x00\x00\x10\x8c\ntotal_sizeJ\x00\x00\x20\x00\x8c\x0csegment_type\x8c\x05small" +
		"\x8c\x06blocks](}(\x8c\x05state\x8c\x10active_allocated\x8c\x04sizeM\x00\x02\x8c\x0erequested_sizeK\x05u}(\x8c\x05state\x8c\x08inactive\x8c\x04sizeJ\x00\xfe\x1f\x00ueue" +
		"\x8c\rdevice_traces](](}(\x8c\x06action\x8c\rsegment_alloc\x8c\x04addrJ\x00\x00\x00\x10\x8c\x04sizeJ\x00\x00\x20\x00u" +
		"}(\x8c\x06action\x8c\x05alloc\x8c\x04addrJ\x00\x00\x00\x10\x8c\x04sizeK\x05ueeu."))
	if real, err := os.ReadFile("../snapshot/testdata/" + oneStream); err == nil {
		f.Add(real)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		rec, err := snapshot.Read(bytes.NewReader(file))
		if err != nil {
			return
		}
		for i := range rec.Devices {
			for _, o := range []Options{{}, {Own: true}, {Limit: 4 << 20}} {
				_, _ = Run(rec, &rec.Devices[i], o)
			}
		}
	})
}
