package cluster

import (
	"regexp"
	"strings"

	"github.com/warmpool/warmpool/expander"
)

// The codes by which providers say that a limit of the account is reached, in lower case. The Cluster Autoscaler puts
// them into one class with a lack of machines, although waiting does not help against a limit.
var quotaCodes = []string{
	"quota", "limitexceeded", "limit_exceeded", "countexceeded", "maxspotinstancecount", "instancelimit", "vcpulimit",
}

// The codes for a lack of machines.
var stockCodes = []string{
	"resource_pool_exhausted", "resourcepoolexhausted", "stockout", "insufficient_capacity", "insufficientcapacity",
	"insufficientinstancecapacity", "placeholder-cannot-be-fulfilled",
	"unfulfillablecapacity", "capacity-not-available", "allocationfailed", "allocation failed", "overconstrained",
	"skunotavailable", "out of host capacity", "outofcapacity", "out of capacity", "no capacity", "insufficient capacity",
	"spotcapacity", "does not have enough resources", "not enough resources", "out of stock", "nostock", "no stock",
	"insufficientreservedcapacity",
}

// classify reads an error of a provider by its code, and by its message where the code says nothing.
func classify(code, message string) expander.FailureClass {
	for _, text := range []string{code, message} {
		text = strings.ToLower(text)
		if text == "" {
			continue
		}
		if containsAny(text, quotaCodes) {
			return expander.FailureQuota
		}
		if containsAny(text, stockCodes) {
			return expander.FailureStock
		}
	}
	return expander.FailureOther
}

func containsAny(text string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// codePattern finds "due to CLASS.CODE" in the message of a ScaleUpFailed event.
var codePattern = regexp.MustCompile(`due to ([A-Za-z]*)\.?([A-Za-z0-9_.-]+)`)

// codeIn is the code in the message of an event; empty if there is none.
func codeIn(message string) string {
	if found := codePattern.FindStringSubmatch(message); found != nil {
		return strings.TrimRight(found[2], ".,;:")
	}
	return ""
}
