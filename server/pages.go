package server

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/warmpool/warmpool/decisions"
)

// decisionPages reads the decision log over HTTP: JSON, or text for people with ?format=text.
type decisionPages struct{ log *decisions.Log }

func (p *decisionPages) register(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/v1/decisions", p.list)
	mux.HandleFunc("GET /api/v1/decisions/{id}", p.get)
	mux.HandleFunc("GET /api/v1/comparison", p.comparison)
}

// list answers {"decisions":[...]}, newest first. Parameters: kind, subject, reason, limit, before (an id).
func (p *decisionPages) list(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	f := decisions.Filter{Kind: decisions.Kind(q.Get("kind")), Subject: q.Get("subject"), Reason: q.Get("reason"), Before: q.Get("before")}
	switch f.Kind {
	case "", decisions.KindExpander, decisions.KindScaler, decisions.KindOperation:
	default:
		http.Error(w, "kind must be expander, scaler or operation", http.StatusBadRequest)
		return
	}
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 1000 {
			http.Error(w, "limit must be a number from 1 to 1000", http.StatusBadRequest)
			return
		}
		f.Limit = n
	}
	records := p.log.List(f)
	if records == nil {
		records = []decisions.Record{}
	}
	answer(w, r, map[string]any{"decisions": records}, func(out io.Writer) error {
		for _, rec := range records {
			if _, err := fmt.Fprintf(out, "%s  %s  %-8s  %s: %s\n", rec.ID, rec.Time.UTC().Format(time.RFC3339), rec.Kind, rec.Subject, rec.Summary); err != nil {
				return err
			}
		}
		return nil
	})
}

func (p *decisionPages) get(w http.ResponseWriter, r *http.Request) {
	rec, ok := p.log.Get(r.PathValue("id"))
	if !ok {
		http.Error(w, "no such decision in memory", http.StatusNotFound)
		return
	}
	answer(w, r, rec, func(out io.Writer) error {
		switch {
		case rec.Expander != nil:
			return decisions.WriteExpander(out, *rec.Expander)
		case rec.Operation != nil:
			return decisions.WriteOperation(out, *rec.Operation)
		}
		return decisions.WriteScaler(out, *rec.Scaler)
	})
}

// comparison answers what the expander's choices cost against least-waste. Parameters: from and to, RFC 3339.
func (p *decisionPages) comparison(w http.ResponseWriter, r *http.Request) {
	var bounds [2]time.Time
	for i, name := range []string{"from", "to"} {
		if text := r.URL.Query().Get(name); text != "" {
			at, err := time.Parse(time.RFC3339, text)
			if err != nil {
				http.Error(w, name+" must be a time such as 2026-08-03T00:00:00Z", http.StatusBadRequest)
				return
			}
			bounds[i] = at
		}
	}
	c := p.log.Comparison().Between(bounds[0], bounds[1])
	sum := c.Sum()
	answer(w, r, map[string]any{"sum": sum, "differenceDollarsPerHour": sum.Difference(), "days": c.Days()}, func(out io.Writer) error {
		return decisions.WriteComparison(out, c)
	})
}

// answer writes a value as JSON, or as text when the request asks for it. A client that went away is not an error.
func answer(w http.ResponseWriter, r *http.Request, value any, text func(io.Writer) error) {
	if r.URL.Query().Get("format") == "text" {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_ = text(w)
		return
	}
	data, err := json.Marshal(value)
	if err != nil {
		http.Error(w, "encode: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(data, '\n'))
}
