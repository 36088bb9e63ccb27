// SPDX-License-Identifier: Apache-2.0

package store

import (
	"database/sql"
	"errors"
	"fmt"

	"snug/internal/redact"
)

// Data from elsewhere (an export, or a database that other programs can change) is checked before it is used: one
// nonsensical row would distort the interval of every later estimate.

const (
	maxBytes   = 1 << 43 // 8 TiB, an order above the largest card
	maxSeconds = 1e6     // limit on the duration of a step
	maxTime    = 1 << 33 // a time in the year 2242
)

// check returns an error if a run has impossible values.
func (r *Run) check() error {
	switch {
	case r.At <= 0 || r.At >= maxTime:
		return errors.New("\"at\" should be seconds since 1970")
	case r.Reserved == 0 || r.Reserved >= maxBytes || r.Predicted >= maxBytes || r.Allocated >= maxBytes:
		return errors.New("\"reserved\", \"allocated\" and \"predicted\" should be GPU memory sizes in bytes")
	case r.StepSeconds < 0:
		return errors.New("\"step_seconds\" is negative")
	case !(r.StepSeconds < maxSeconds): // also true for NaN
		return errors.New("\"step_seconds\" should be the duration of a step")
	}
	if len(r.Card)+len(r.Torch)+len(r.CUDA)+len(r.Family)+len(r.Model)+len(r.Size)+len(r.Setup) > maxLine {
		return errors.New("it is too long for a run")
	}
	return nil
}

// redacted returns the run without secrets: a command may contain some, and the store is exported and shown.
func (r Run) redacted() Run {
	for _, text := range r.texts() {
		*text = redact.Text(*text)
	}
	return r
}

func (r *Run) texts() []*string {
	return []*string{&r.Card, &r.Torch, &r.CUDA, &r.Family, &r.Model, &r.Size, &r.Setup}
}

// wrongRow is the error for a row with impossible values.
type wrongRow struct {
	id  int64
	why error
}

func (w *wrongRow) Error() string {
	return fmt.Sprintf("run %d: %v; snug history delete %d removes it", w.id, w.why, w.id)
}

// scan returns the run in a row. SQLite columns can contain values of any type.
func scan(rows *sql.Rows) (Run, error) {
	var r Run
	var at, predicted, allocated, reserved, seconds any
	err := rows.Scan(&r.ID, &at, &r.Card, &r.Torch, &r.CUDA, &r.Family, &r.Model, &r.Size, &r.Setup, &predicted, &allocated, &reserved, &seconds)
	if err != nil || at == nil {
		return r, errDamaged // a value that the schema does not allow
	}
	for _, n := range []struct {
		value any
		to    *uint64
	}{{predicted, &r.Predicted}, {allocated, &r.Allocated}, {reserved, &r.Reserved}} {
		v, ok := n.value.(int64)
		if !ok || v < 0 {
			return r, &wrongRow{r.ID, fmt.Errorf("%v is not a number of bytes", n.value)}
		}
		*n.to = uint64(v)
	}
	r.At, _ = at.(int64)
	var ok bool
	if r.StepSeconds, ok = seconds.(float64); !ok {
		return r, &wrongRow{r.ID, fmt.Errorf("%v is not a valid step time", seconds)}
	}
	if err := r.check(); err != nil {
		return r, &wrongRow{r.ID, err}
	}
	return r.redacted(), nil
}

// scrub removes secrets from rows that were stored by earlier versions. The database overwrites the old data.
func scrub(tx *sql.Tx) error {
	rows, err := tx.Query("SELECT id, model, setup FROM runs")
	if err != nil {
		return err
	}
	defer rows.Close()
	var found []Run
	for rows.Next() {
		var r Run
		if err := rows.Scan(&r.ID, &r.Model, &r.Setup); err != nil {
			continue // the error is reported when the row is read
		}
		if clean := r.redacted(); clean != r {
			found = append(found, clean)
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	for _, r := range found {
		if _, err := tx.Exec("UPDATE runs SET model = ?, setup = ? WHERE id = ?", r.Model, r.Setup, r.ID); err != nil {
			return err
		}
	}
	return nil
}
