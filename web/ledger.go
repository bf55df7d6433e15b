package web

import "net/http"

// ledgers answers what every service runs on, what is on the way, what fell back and why, and what that costs.
func (a *api) ledgers(w http.ResponseWriter, _ *http.Request) {
	answer(w, a.engine.Ledgers())
}

// ledger answers that of one service.
func (a *api) ledger(w http.ResponseWriter, r *http.Request) {
	one, ok := a.engine.Ledger(r.PathValue("id"))
	if !ok {
		fail(w, http.StatusNotFound, "no such service; see /api/v1/ledger")
		return
	}
	answer(w, one)
}
