// SPDX-License-Identifier: Apache-2.0

package web

import (
	"crypto/subtle"
	"net"
	"net/http"
	"slices"
	"strings"
)

// Limits on the size of a request.
const (
	maxQuestion  = 4 << 20   // bytes of a request; a config.json has a few thousand
	maxProfile   = 64 << 20  // bytes in a profile
	maxSnapshot  = 512 << 20 // bytes in a snapshot
	maxRecording = 64 << 20  // bytes in a recording
)

// tokenCookie is the cookie that stores the token after the first visit, when the token is in the address.
const tokenCookie = "snug_token"

// guarded accepts only requests from this server's page or from a program on this machine. Another site's page must
// not be able to use the server through its user's browser: neither through a name that resolves to this machine
// (Host), nor through a cross-origin request.
func (s *server) guarded(next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		switch {
		case !s.knows(r.Host):
			writeProblem(w, &problem{http.StatusMisdirectedRequest, "this server does not answer for the host " + r.Host})
		case !s.admits(w, r):
			writeProblem(w, &problem{http.StatusUnauthorized, "the token is missing or wrong; open the address that snug serve printed, or send Authorization: Bearer TOKEN"})
		case !openedByUser(r) && origins.Check(asPost(r)) != nil:
			writeProblem(w, &problem{http.StatusForbidden, "requests from other sites are refused"})
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// openedByUser reports whether a browser opens an address as a page of its own, as it does when the user follows a
// link on any site.
func openedByUser(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// asPost returns the request as a POST. The standard library's check lets other sites send requests that only read, since
// they do not see the answer, but such requests would still keep the server busy.
func asPost(r *http.Request) *http.Request {
	out := *r
	out.Method = http.MethodPost
	return &out
}

// knows reports whether a Host header names this server.
func (s *server) knows(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	if name == "localhost" || slices.Contains(s.options.Hosts, name) {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}

// admits reports whether a request has the token. On the first visit it is in the address, and a cookie then keeps
// it.
func (s *server) admits(w http.ResponseWriter, r *http.Request) bool {
	if s.options.Token == "" {
		return true
	}
	is := func(given string) bool {
		return subtle.ConstantTimeCompare([]byte(given), []byte(s.options.Token)) == 1
	}
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return is(bearer)
	}
	if given := r.URL.Query().Get("token"); given != "" && r.Method == http.MethodGet {
		if is(given) {
			http.SetCookie(w, &http.Cookie{Name: tokenCookie, Value: given, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
			return true
		}
		return false
	}
	c, err := r.Cookie(tokenCookie)
	return err == nil && is(c.Value)
}
