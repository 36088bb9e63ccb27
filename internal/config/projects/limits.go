// SPDX-License-Identifier: Apache-2.0

package projects

// Limits on how much is read of a project. Its folder may contain anything, the values of a file take a
// hundred times its bytes, and files that name each other can multiply. No training project comes near
// these limits.
const (
	largestFile  = 1 << 20  // bytes of a file that is found or that another file names
	largestNamed = 4 << 20  // bytes of one that the user names and that is not a program
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
