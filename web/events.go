package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

const (
	// maxStreams bounds the open streams: each is a browser tab.
	maxStreams = 64
	// lookEvery is how often a stream looks for news, and beatEvery how often it says that it is alive without any.
	lookEvery = time.Second
	beatEvery = 15 * time.Second
)

// events tells a client that there is something new to read. What it is, the client reads with the other calls: so a
// slow client misses nothing and holds up nobody.
func (a *api) events(w http.ResponseWriter, r *http.Request) {
	select {
	case a.streams <- struct{}{}:
		defer func() { <-a.streams }()
	default:
		fail(w, http.StatusServiceUnavailable, "too many open pages: close some")
		return
	}
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	var last news
	for silent := beatEvery; ; silent += lookEvery {
		now := a.news()
		switch {
		case now != last:
			data, _ := json.Marshal(now) // times and numbers cannot fail
			fmt.Fprintf(w, "event: change\ndata: %s\n\n", data)
			last, silent = now, 0
		case silent >= beatEvery:
			fmt.Fprint(w, ": alive\n\n")
			silent = 0
		}
		if out.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-look.C:
		}
	}
}

// news is what changes when there is something new.
type news struct {
	Tick     time.Time `json:"tick"`
	Recorded uint64    `json:"recorded"`
}

func (a *api) news() news { return news{a.engine.LastTick(), a.stats().Recorded} }
