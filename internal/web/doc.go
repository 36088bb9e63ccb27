// SPDX-License-Identifier: Apache-2.0

// Package web is the local page of snug and the JSON API behind it. Everything is in the binary: the page makes no
// request to another machine, and no question reads a file of this one. What a user uploads stays in memory.
//
//	server.go    the routes, and what the server is told about its surroundings
//	guard.go     who may ask: hosts, origins, the token, limits on sizes and on work
//	question.go  a request becomes a setup and a card; an error becomes an answer
//	estimate.go  estimates, the largest batch, the step over time, the curve over batches
//	optimize.go  plans, and all cards compared
//	lists.go     models, cards, settings
//	upload.go    profiles and snapshots that were uploaded
//	snapshot.go  what a snapshot shows
//	openapi.go   the API's description, made from the same tables
//	static/      the page
package web
