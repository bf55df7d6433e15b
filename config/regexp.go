package config

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
)

// explainRegexp says what is wrong with an expression and at which character, which the standard library's error leaves
// out, and names the commonest mistakes.
func explainRegexp(text string, err error) string {
	var bad *syntax.Error
	if !errors.As(err, &bad) {
		return err.Error()
	}
	message := bad.Code.String()
	switch {
	case bad.Code == syntax.ErrMissingRepeatArgument && strings.HasPrefix(bad.Expr, "*"):
		message += " before * (a shell pattern? any text is .*)"
	case strings.HasPrefix(bad.Expr, "(?"):
		message += " (look-around and back references do not exist in RE2)"
	}
	if bad.Expr == "" || bad.Expr == text {
		return message
	}
	if at := strings.Index(text, bad.Expr); at >= 0 {
		return fmt.Sprintf("%s at character %d", message, at+1)
	}
	return message
}
