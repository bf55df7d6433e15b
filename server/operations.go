package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/warmpool/warmpool/engine"
)

// Operations is the engine's part of what operators order at run time.
type Operations interface {
	Operations() engine.Operations
	// Persistent tells whether a restart keeps an order.
	Persistent() bool
	SetOverride(o engine.Override) (engine.Override, error)
	ClearOverride(id, who, reason string) (engine.Override, error)
	SetFreeze(f engine.Freeze) (engine.Freeze, error)
}

var _ Operations = (*engine.Engine)(nil)

// operationPages let operators set overrides and freezes over HTTP. Reading is like reading anything else here. Writing
// always needs the token, on the loopback interface too: there any process of the machine could call, and so could a
// page in a browser.
type operationPages struct {
	operations Operations
	known      bool // a token or a client certificate is required, and the request was let in with it
}

func (p *operationPages) register(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/v1/overrides", p.overrides)
	mux.HandleFunc("POST /api/v1/overrides", p.writing(p.setOverride))
	mux.HandleFunc("DELETE /api/v1/overrides/{id}", p.writing(p.clearOverride))
	mux.HandleFunc("GET /api/v1/freeze", p.freezes)
	mux.HandleFunc("POST /api/v1/freeze", p.writing(p.setFreeze))
}

func (p *operationPages) writing(next http.HandlerFunc) http.HandlerFunc {
	// A browser presents a client certificate for whatever page asks it to.
	protected := http.NewCrossOriginProtection().Handler(next)
	return func(w http.ResponseWriter, r *http.Request) {
		if !p.known {
			http.Error(w, "writing needs a token: start the server with --admin-token-file, also on a loopback address", http.StatusForbidden)
			return
		}
		protected.ServeHTTP(w, r)
	}
}

// who is what the server knows of the caller, with the name that the caller gives, which nobody has checked.
func who(r *http.Request, by string) (string, error) {
	text := "admin token from " + r.RemoteAddr
	if leaf := verifiedLeaf(r.TLS); leaf != nil && r.Header.Get("Authorization") == "" {
		text = "client certificate " + strings.Join(namesOf(leaf), ",") + " from " + r.RemoteAddr
	}
	if by == "" {
		return text, nil
	}
	if len(by) > 100 || strings.ContainsFunc(by, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return "", errors.New("by must be at most 100 printable characters")
	}
	return by + " (" + text + ")", nil
}

func (p *operationPages) overrides(w http.ResponseWriter, r *http.Request) {
	all := p.operations.Operations().Overrides
	answer(w, r, map[string]any{"overrides": all, "persistent": p.operations.Persistent()}, func(out io.Writer) error {
		return writeOverrides(out, all)
	})
}

func writeOverrides(out io.Writer, all []engine.Override) error {
	limit := func(n *int) string {
		if n == nil {
			return "-"
		}
		return fmt.Sprint(*n)
	}
	for _, o := range all {
		if _, err := fmt.Fprintf(out, "%s  %s  min %s max %s  %s to %s  %s  by %s\n", o.ID, o.Service, limit(o.Min), limit(o.Max),
			o.From.UTC().Format(time.RFC3339), o.To.UTC().Format(time.RFC3339), o.Reason, o.Who); err != nil {
			return err
		}
	}
	return nil
}

// overrideOrder is the body of POST /api/v1/overrides. For is a duration such as 2h, from From or now on, in place of To.
type overrideOrder struct {
	Service string    `json:"service"`
	Min     *int      `json:"min"`
	Max     *int      `json:"max"`
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	For     string    `json:"for"`
	Reason  string    `json:"reason"`
	By      string    `json:"by"`
}

func (p *operationPages) setOverride(w http.ResponseWriter, r *http.Request) {
	var order overrideOrder
	if !read(w, r, &order) {
		return
	}
	caller, err := who(r, order.By)
	if err == nil && order.For != "" {
		err = order.span()
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	o, err := p.operations.SetOverride(engine.Override{
		Service: order.Service, Min: order.Min, Max: order.Max, From: order.From, To: order.To, Reason: order.Reason, Who: caller,
	})
	p.done(w, r, map[string]any{"override": o}, err, func(out io.Writer) error { return writeOverrides(out, []engine.Override{o}) })
}

func (o *overrideOrder) span() error {
	d, err := time.ParseDuration(o.For)
	switch {
	case err != nil || d <= 0:
		return errors.New("for must be a duration such as 2h or 30m")
	case !o.To.IsZero():
		return errors.New("give to or for, not both")
	}
	from := o.From
	if from.IsZero() {
		from = time.Now()
	}
	o.To = from.Add(d)
	return nil
}

// clearOverride takes reason and by as parameters: a DELETE has no body.
func (p *operationPages) clearOverride(w http.ResponseWriter, r *http.Request) {
	caller, err := who(r, r.URL.Query().Get("by"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	o, err := p.operations.ClearOverride(r.PathValue("id"), caller, r.URL.Query().Get("reason"))
	p.done(w, r, map[string]any{"override": o}, err, func(out io.Writer) error { return writeOverrides(out, []engine.Override{o}) })
}

func (p *operationPages) freezes(w http.ResponseWriter, r *http.Request) {
	all := p.operations.Operations().Freezes
	if all == nil {
		all = []engine.Freeze{}
	}
	answer(w, r, map[string]any{"freezes": all, "persistent": p.operations.Persistent()}, func(out io.Writer) error {
		for _, f := range all {
			if err := writeFreeze(out, f); err != nil {
				return err
			}
		}
		return nil
	})
}

func writeFreeze(out io.Writer, f engine.Freeze) error {
	state := "off"
	if f.On {
		state = "on"
	}
	_, err := fmt.Fprintf(out, "%s  freeze %s  since %s  %s  by %s\n", f.Half, state, f.At.UTC().Format(time.RFC3339), f.Reason, f.Who)
	return err
}

// freezeOrder is the body of POST /api/v1/freeze.
type freezeOrder struct {
	Half   string `json:"half"`
	On     *bool  `json:"on"`
	Reason string `json:"reason"`
	By     string `json:"by"`
}

func (p *operationPages) setFreeze(w http.ResponseWriter, r *http.Request) {
	var order freezeOrder
	if !read(w, r, &order) {
		return
	}
	caller, err := who(r, order.By)
	if err == nil && order.On == nil {
		err = errors.New("on is required: true or false")
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f, err := p.operations.SetFreeze(engine.Freeze{Half: order.Half, On: *order.On, Reason: order.Reason, Who: caller})
	p.done(w, r, map[string]any{"freeze": f}, err, func(out io.Writer) error { return writeFreeze(out, f) })
}

// done answers an order: it is in force from the next evaluation on.
func (p *operationPages) done(w http.ResponseWriter, r *http.Request, value map[string]any, err error, text func(io.Writer) error) {
	switch {
	case err == nil:
		value["persistent"] = p.operations.Persistent()
		answer(w, r, value, text)
	case errors.Is(err, engine.ErrInvalidOperation):
		http.Error(w, err.Error(), http.StatusBadRequest)
	case errors.Is(err, engine.ErrUnknownOverride):
		http.Error(w, err.Error(), http.StatusNotFound)
	default:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// largestOrder is far above any order.
const largestOrder = 16 << 10

// read decodes the body of an order, or answers what is wrong with it.
func read(w http.ResponseWriter, r *http.Request, into any) bool {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, largestOrder))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		http.Error(w, "the body must be a JSON object: "+err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}
