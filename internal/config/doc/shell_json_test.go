// SPDX-License-Identifier: Apache-2.0

package doc

import "testing"

// TestShellJSON checks that a value inside a JSON argument is read, and that changing it is refused.
func TestShellJSON(t *testing.T) {
	d, err := OpenAs("run.sh", Shell, []byte(`python a.py --n 4 --gradient_checkpointing_kwargs '{"use_reentrant": false}' --x '{batch}'`+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	at := Path{"--gradient_checkpointing_kwargs", "use_reentrant"}
	v, err := d.Find(at)
	if err != nil || v.Data != false {
		t.Errorf("got %v, %v, want false", v.Data, err)
	}
	if _, err := d.Set(at, true); err == nil {
		t.Error("a value inside a JSON argument was changed")
	}
	if v, err := d.Find(Path{"--x"}); err != nil || v.Data != "{batch}" {
		t.Errorf("got %v, %v, want {batch}", v.Data, err)
	}
}
