// SPDX-License-Identifier: Apache-2.0

//go:build linux

package change

import (
	"bytes"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// accessList is the attribute after setfacl -m u:1000:rw,m::rw on a file of mode 0640: version 2, then owner,
// user 1000, group, mask and others, each with its tag, permissions and ID.
var accessList = []byte{
	2, 0, 0, 0,
	0x01, 0, 6, 0, 0xff, 0xff, 0xff, 0xff,
	0x02, 0, 6, 0, 0xe8, 0x03, 0, 0,
	0x04, 0, 4, 0, 0xff, 0xff, 0xff, 0xff,
	0x10, 0, 6, 0, 0xff, 0xff, 0xff, 0xff,
	0x20, 0, 0, 0, 0xff, 0xff, 0xff, 0xff,
}

func TestAttributesSurvive(t *testing.T) {
	root := t.TempDir()
	write(t, root, project)
	name := filepath.Join(root, "ds.json")
	want := map[string][]byte{}
	for attr, value := range map[string][]byte{"user.origin": []byte("cluster"), "system.posix_acl_access": accessList} {
		if err := unix.Setxattr(name, attr, value, 0); err != nil {
			t.Logf("%s is not tested: this file system has no such attribute (%v)", attr, err)
			continue
		}
		want[attr] = value
	}
	if len(want) == 0 {
		t.Skip("this file system has no extended attributes")
	}
	check := func(name string) {
		t.Helper()
		for attr, value := range want {
			got := make([]byte, 256)
			n, err := unix.Getxattr(name, attr, got)
			if err != nil || !bytes.Equal(got[:n], value) {
				t.Errorf("%s of %s is %q (%v), want %q", attr, filepath.Base(name), got[:max(n, 0)], err, value)
			}
		}
	}
	s := open(t, root, Options{Folder: quickly})
	if err := apply(s, edits, nil); err != nil {
		t.Fatal(err)
	}
	check(name)
	check(name + ".backup")
	if _, err := s.Revert(1, false); err != nil {
		t.Fatal(err)
	}
	check(name)
}
