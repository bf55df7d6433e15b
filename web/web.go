package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/warmpool/warmpool/decisions"
	"github.com/warmpool/warmpool/engine"
	"github.com/warmpool/warmpool/link"
)

// Engine is what the page shows. [engine.Engine] implements it.
type Engine interface {
	Status() engine.Status
	LastTick() time.Time
	Board() []engine.Line
	Detail(id string) (engine.Detail, bool)
	Pools() engine.Pools
	Situation(id string) (engine.Situation, bool)
	Ledgers() []link.Ledger
	Ledger(id string) (link.Ledger, bool)
}

var _ Engine = (*engine.Engine)(nil)

//go:embed assets
var embedded embed.FS

// securityHeaders allow the page its own files and nothing else: no inline script or style, no other origin, no frame
// around it.
var securityHeaders = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	"X-Content-Type-Options":       "nosniff",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
}

func secure(w http.ResponseWriter) {
	for name, value := range securityHeaders {
		w.Header().Set(name, value)
	}
}

// file is one embedded file as it is served.
type file struct {
	content      []byte
	kind, digest string
}

// Page serves the files of the page: index.html at /, the others below /assets/. They hold no data.
func Page() http.Handler {
	files := map[string]file{}
	assets, err := fs.Sub(embedded, "assets")
	if err == nil {
		err = fs.WalkDir(assets, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := fs.ReadFile(assets, name)
			sum := sha256.Sum256(content)
			files["/assets/"+name] = file{content, kindOf(name), `"` + hex.EncodeToString(sum[:8]) + `"`}
			return err
		})
	}
	if err != nil {
		panic("web: the embedded page cannot be read: " + err.Error()) // the build put it there
	}
	files["/"] = files["/assets/index.html"]
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure(w)
		f, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		// Asked again every time: a new version of warmpool must not meet an old page.
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("ETag", f.digest)
		w.Header().Set("Content-Type", f.kind)
		if strings.Contains(r.Header.Get("If-None-Match"), f.digest) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		if r.Method != http.MethodHead {
			_, _ = w.Write(f.content) // a client that went away
		}
	})
}

// kindOf knows the kinds of the page's own files, whatever the machine's tables say.
func kindOf(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".html":
		return "text/html; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return mime.TypeByExtension(path.Ext(name))
}

// API serves the JSON interface below /api/v1/. The log may be nil.
func API(e Engine, log *decisions.Log) http.Handler {
	a := &api{engine: e, log: log, streams: make(chan struct{}, maxStreams)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/overview", a.overview)
	mux.HandleFunc("GET /api/v1/services", a.services)
	mux.HandleFunc("GET /api/v1/services/{id...}", a.service)
	mux.HandleFunc("GET /api/v1/pools", a.pools)
	mux.HandleFunc("GET /api/v1/groups/{id...}", a.group)
	mux.HandleFunc("GET /api/v1/situations/{id}", a.situation)
	mux.HandleFunc("GET /api/v1/ledger", a.ledgers)
	mux.HandleFunc("GET /api/v1/ledger/{id...}", a.ledger)
	mux.HandleFunc("GET /api/v1/events", a.events)
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, http.StatusNotFound, "there is no "+r.Method+" "+r.URL.Path)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure(w)
		w.Header().Set("Cache-Control", "no-store")
		mux.ServeHTTP(w, r)
	})
}
