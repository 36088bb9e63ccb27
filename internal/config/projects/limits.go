// SPDX-License-Identifier: Apache-2.0

package projects

// Limits on how much of a project is read. A folder may contain anything, parsed values take a hundred times
// the file's bytes, and files that include each other can multiply. No training project comes near these
// limits.
const (
	largestFile  = 1 << 20  // bytes of a file that is found by a search or named in another file
	largestNamed = 4 << 20  // bytes of a file that the user names, unless it is a program
	maxRead      = 32 << 20 // bytes of all files of a project
	maxParsed    = 8 << 20  // bytes that a search parses
	maxKept      = 200_000  // values in the files that may be part of the run
	maxDefaults  = 2_000    // entries of the defaults lists of one Hydra tree
	maxComposed  = 500_000  // values of all Hydra trees together
)

// Limits of a search, so that a home folder is refused instead of walked.
const (
	deepestFolder = 6
	maxFolders    = 2000
	maxFiles      = 500
	maxEntries    = 200_000
)
