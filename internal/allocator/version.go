// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"fmt"
	"strconv"
	"strings"
)

// Version is a PyTorch release; patch releases do not change the allocator. Constants that are the same in all
// versions are in sizes.go, and the defaults of options in options.go.
type Version struct {
	Major int // 2 in 2.11
	Minor int // 11 in 2.11
}

// Latest is the newest version whose allocator was read and compared. PyTorch's main branch (2.13) places blocks like
// 2.12.
var Latest = Version{2, 12}

// Oldest is the first version modeled, which introduced expandable segments.
var Oldest = Version{2, 1}

// ParseVersion parses torch.__version__: "2.11", "2.11.0+cu130", "2.12.0a0+gitdea39b1". A version whose rules have
// not been read is an error, because a guess would look like a fact.
func ParseVersion(text string) (Version, error) {
	rest := strings.TrimPrefix(strings.TrimSpace(text), "v")
	major, rest, found := strings.Cut(rest, ".")
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	v := Version{}
	var err1, err2 error
	v.Major, err1 = strconv.Atoi(major)
	v.Minor, err2 = strconv.Atoi(rest[:end])
	if !found || err1 != nil || err2 != nil || !endsCleanly(rest[end:]) {
		return Version{}, fmt.Errorf("%q is not a PyTorch version; write it like 2.11 or 2.11.0+cu130", text)
	}
	if err := v.check(); err != nil {
		return Version{}, err
	}
	return v, nil
}

// endsCleanly reports whether the text after the minor number starts a patch level, a pre-release, a build or a
// branch, as opposed to a stray letter.
func endsCleanly(rest string) bool {
	return rest == "" || strings.ContainsAny(rest[:1], ".+-ar")
}

func (v Version) check() error {
	if v.Major != 2 || v.Minor < Oldest.Minor || v.Minor > Latest.Minor+1 {
		return fmt.Errorf("the allocator of PyTorch %s is not modeled; versions %s to %s are", v, Oldest, Latest)
	}
	return nil
}

// String returns the version as major.minor.
func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// AtLeast reports whether v is 2.minor or later.
func (v Version) AtLeast(minor int) bool { return v.Major > 2 || v.Major == 2 && v.Minor >= minor }

// rules has everything that differs between versions. The allocator uses these fields and never a version number, so
// this table is complete. Each fact was read from the sources of the tags v2.1.0 to v2.11.0 and the branch
// release/2.12.
type rules struct {
	// Placement.
	tieByCreation  bool // among equal sizes, the block created first wins, not the lower address
	divisionsFrom2 bool // roundup_power2_divisions of 1 means off (before, it meant no rounding at all)

	// Private pools.
	privateExpandable   bool // CUDA graph pools may be expandable
	memPoolRefusesExp   bool // any user MemPool combined with expandable segments is an error
	customPoolRefuseExp bool // only a MemPool with its own allocator is an error
	customPoolPlain     bool // a MemPool with its own allocator gets plain segments
	noSplitPools        bool
	newestCaptureFirst  bool
	emptyCacheInCapture bool // empty_cache is allowed during a capture and affects only released pools
	overflowPools       bool // MemPools with use_on_oom serve the default pool when memory runs out
	overflowBeforeFlush bool // such MemPools are used before the cache is flushed, not after
	deferredAtPoolEnd   bool // frees deferred by a capture complete when it ends

	// Limits and options.
	fractionOneIsNone   bool // a memory fraction of 1.0 removes the limit
	lenientSeparators   bool // a wrong separator in the option string is accepted
	restStartsAfterLast bool // ">" in a divisions list does not change the last key's entry
	splitMayEqualLarge  bool // max_split_size may equal the large segment size
	roundingResets      bool // parsing again resets max_non_split_rounding
}

func rulesOf(v Version) rules {
	return rules{
		tieByCreation:  v.AtLeast(12),
		divisionsFrom2: v.AtLeast(4),

		privateExpandable:   v.AtLeast(5),
		memPoolRefusesExp:   v.Minor == 7,
		customPoolRefuseExp: v.Minor == 8 || v.Minor == 9,
		customPoolPlain:     v.AtLeast(10),
		noSplitPools:        v.AtLeast(10),
		newestCaptureFirst:  v.AtLeast(10),
		emptyCacheInCapture: v.AtLeast(8),
		overflowPools:       v.AtLeast(8),
		overflowBeforeFlush: v.AtLeast(11),
		deferredAtPoolEnd:   v.AtLeast(12),

		fractionOneIsNone:   v.AtLeast(10),
		lenientSeparators:   v.AtLeast(10),
		restStartsAfterLast: v.AtLeast(10),
		splitMayEqualLarge:  v.AtLeast(10),
		roundingResets:      v.AtLeast(11),
	}
}
