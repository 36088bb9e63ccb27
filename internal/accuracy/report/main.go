// SPDX-License-Identifier: Apache-2.0

// Command report compares estimates with measurements. It writes docs/accuracy.md for people, and the tables behind
// the intervals of estimates.
package main

import (
	"flag"
	"fmt"
	"os"

	"snug/internal/accuracy"
)

func main() {
	measured := flag.String("measured", "testdata/measured", "folder with measured cases")
	out := flag.String("out", "docs/accuracy.md", "the page to write")
	residuals := flag.String("residuals", "internal/estimate/residuals.json", "the table to write")
	recorded := flag.String("recorded", "internal/profile/residuals.json", "the table for recorded runs to write")
	flag.Parse()
	if err := run(*measured, *out, *residuals, *recorded); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(2)
	}
}

func run(measured, out, residuals, recorded string) error {
	r, err := accuracy.Make(os.DirFS(measured))
	if err != nil {
		return err
	}
	table, err := r.Residuals()
	if err != nil {
		return err
	}
	if err := os.WriteFile(residuals, table, 0o644); err != nil {
		return err
	}
	if table, err = r.ProfileResiduals(); err != nil {
		return err
	}
	if err := os.WriteFile(recorded, table, 0o644); err != nil {
		return err
	}
	return os.WriteFile(out, []byte(r.Markdown()), 0o644)
}
