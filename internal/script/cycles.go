// SPDX-License-Identifier: Apache-2.0

package script

// A list that contains itself would be walked forever, so a script that makes one is not followed.

// maxNested is how many values are searched for a cycle.
const maxNested = 2000

// puts checks a value before it is put into a container.
func (in *interpreter) puts(v, into value) {
	left := maxNested
	if reaches(v, into, &left) {
		in.fail("a list or dict that contains itself is not followed; name the loop instead: --loop script")
	}
}

// reaches reports whether the container is v itself or lies inside it.
func reaches(v, container value, left *int) bool {
	if *left--; *left < 0 {
		return false
	}
	switch v := v.(type) {
	case *list:
		if value(v) == container {
			return true
		}
		for _, x := range v.items {
			if reaches(x, container, left) {
				return true
			}
		}
	case *dict:
		if value(v) == container {
			return true
		}
		for _, x := range v.vals {
			if reaches(x, container, left) {
				return true
			}
		}
	}
	return false
}
