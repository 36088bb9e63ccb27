// SPDX-License-Identifier: Apache-2.0

package snug

import (
	"context"
	"errors"

	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/profile"
	"snug/internal/setup"
)

// Kinds of errors, for errors.Is.
var (
	// ErrUnknownModel means that the setup names an unknown model, or describes one that cannot be simulated. A
	// profile of it can still be used.
	ErrUnknownModel = errors.New("the model is not known")
	// ErrUnknownCard means that no GPU has the name, or that several share it.
	ErrUnknownCard = errors.New("the GPU is not known")
	// ErrNoLimit means that a search has no memory limit: there is no card, and the setup has no limit.
	ErrNoLimit = errors.New("no memory limit: give the setup a limit or choose a card")
	// ErrTooLong means that the run is longer or larger than snug simulates.
	ErrTooLong = errors.New("the run is too long or too large to simulate")
)

// FieldError is a mistake in a field of a setup or an options struct.
type FieldError struct {
	// Field is the JSON name of the field at fault, such as "batch" or "lora.rank". A field of an options struct is
	// in lower case, such as "lock".
	Field string
	// Message is one line: what is wrong, and what to do.
	Message string

	kind error // one of the kinds above, or nil
}

// Error returns the message.
func (e *FieldError) Error() string { return e.Message }

// Unwrap returns ErrUnknownModel or another of the errors above, or nil.
func (e *FieldError) Unwrap() error { return e.kind }

// kindError is an error that has a kind but is not about a field.
type kindError struct {
	error
	kind error
}

func (e kindError) Unwrap() []error { return []error{e.error, e.kind} }

// public converts an error from an internal package to the public types. It keeps the text and whatever was wrapped
// for errors.Is, such as fs.ErrNotExist.
func public(err error) error {
	var field *setup.FieldError
	kind := kindOf(err)
	switch {
	case err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, estimate.ErrNoLimit):
		return ErrNoLimit
	case errors.As(err, &field):
		return &FieldError{Field: field.Field, Message: err.Error(), kind: kind}
	case kind != nil:
		return kindError{err, kind}
	}
	return err
}

// kindOf returns the kind of an internal error, or nil if it has none.
func kindOf(err error) error {
	var beyond estimate.LimitError
	var card *gpu.UnknownError
	switch {
	case errors.Is(err, setup.ErrUnknownModel):
		return ErrUnknownModel
	case errors.As(err, &card):
		return ErrUnknownCard
	case errors.As(err, &beyond), errors.Is(err, profile.ErrTooLarge):
		return ErrTooLong
	}
	return nil
}
