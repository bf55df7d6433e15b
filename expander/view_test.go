package expander_test

import (
	"reflect"
	"testing"

	"github.com/warmpool/warmpool/expander"
)

// Every number of a group is unknown until something is known of it, also one that is added later; only losses are counted
// from zero.
func TestUnknownGroupKnowsNoNumber(t *testing.T) {
	group := reflect.ValueOf(expander.UnknownGroup())
	for field, value := range group.Fields() {
		unknown := value.IsZero()
		switch {
		case field.Name == "Lost":
		case value.CanInt():
			unknown = value.Int() < 0
		case value.CanFloat():
			unknown = value.Float() < 0
		}
		if !unknown {
			t.Errorf("%s is %v", field.Name, value)
		}
	}
}
