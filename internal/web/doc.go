// SPDX-License-Identifier: Apache-2.0

// Package web is snug's local page and the JSON API behind it. Everything is in the binary: the page makes no request
// to another machine, and no API request reads a file on this one. Uploads stay in memory.
//
//	server.go    the routes and the server's options
//	guard.go     access control: hosts, origins, the token, limits on sizes and on work
//	question.go  turns a request into a setup and a card, and an error into an answer
//	estimate.go  estimates, the largest batch, one step over time, memory by batch size
//	optimize.go  plans, and all cards compared
//	lists.go     models, cards, settings
//	upload.go    uploaded profiles and snapshots
//	snapshot.go  what a snapshot shows, when it is uploaded and later through its link
//	stream.go    streamed answers: server-sent events
//	watch.go     what snug watch shows for this machine or a recording
//	tunes.go     what snug tune has tried, from the store
//	openapi.go   the API's description, generated from the same tables
//	static/      the page
package web
