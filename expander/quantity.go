package expander

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
)

// ErrQuantity is wrapped by every error of [ParseQuantity].
var ErrQuantity = errors.New("not a Kubernetes quantity")

// maxExponent bounds the decimal exponent that is read; anything beyond cannot be a size in bytes.
const maxExponent = 30

// ParseQuantity reads a Kubernetes quantity, such as "140Gi", "80e9" or "512M", as a whole number of bytes, rounded
// up. It accepts what the Kubernetes API accepts as long as the value fits into an int64, and errors otherwise; a
// sign is accepted, spaces are not.
func ParseQuantity(text string) (int64, error) {
	number, suffix := splitQuantity(text)
	mantissa, ok := parseDecimal(number)
	if !ok {
		return 0, fmt.Errorf("read %q: %w, write a number with an optional suffix such as Gi", text, ErrQuantity)
	}
	scale, ok := quantityScale(suffix)
	if !ok {
		return 0, fmt.Errorf("read %q: %w, the suffix %q is unknown", text, ErrQuantity, suffix)
	}
	value, ok := roundUp(mantissa.Mul(mantissa, scale))
	if !ok {
		return 0, fmt.Errorf("read %q: %w that fits into 63 bits", text, ErrQuantity)
	}
	return value, nil
}

// splitQuantity cuts the number from its suffix.
func splitQuantity(text string) (number, suffix string) {
	for i, r := range text {
		sign := i == 0 && (r == '+' || r == '-')
		if !sign && r != '.' && (r < '0' || r > '9') {
			return text[:i], text[i:]
		}
	}
	return text, ""
}

// parseDecimal reads a signed decimal number with at least one digit. The length limit keeps hostile annotations
// from costing time; 64 digits are far more than any size has.
func parseDecimal(text string) (*big.Rat, bool) {
	digits := strings.TrimLeft(text, "+-")
	if len(digits) > 64 || strings.Count(digits, ".") > 1 || strings.Trim(digits, ".") == "" {
		return nil, false
	}
	if text[0] == '+' {
		text = text[1:]
	}
	return new(big.Rat).SetString(text)
}

// quantityScale is the factor of a suffix: binary, decimal, or a decimal exponent.
func quantityScale(suffix string) (*big.Rat, bool) {
	if i := strings.Index("KiMiGiTiPiEi", suffix); len(suffix) == 2 && i >= 0 && i%2 == 0 {
		return new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), uint(10*(i/2+1)))), true
	}
	decimal := map[string]int{"": 0, "n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
	if exponent, ok := decimal[suffix]; ok {
		return powerOfTen(exponent), true
	}
	if suffix[0] != 'e' && suffix[0] != 'E' {
		return nil, false
	}
	exponent, ok := parseExponent(suffix[1:])
	return powerOfTen(exponent), ok
}

func parseExponent(text string) (int, bool) {
	sign := 1
	if strings.HasPrefix(text, "-") {
		sign = -1
	}
	digits := strings.TrimPrefix(strings.TrimPrefix(text, "-"), "+")
	if digits == "" || len(digits) > 4 || (len(text)-len(digits)) > 1 {
		return 0, false
	}
	n := 0
	for _, r := range digits {
		if r < '0' || r > '9' {
			return 0, false
		}
		n = n*10 + int(r-'0')
	}
	return sign * n, n <= maxExponent
}

func powerOfTen(exponent int) *big.Rat {
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(exponent, -exponent))), nil)
	if exponent < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), power)
	}
	return new(big.Rat).SetInt(power)
}

// roundUp rounds away from zero, as Kubernetes does for amounts that must not be understated.
func roundUp(r *big.Rat) (int64, bool) {
	quotient, rest := new(big.Int).QuoRem(r.Num(), r.Denom(), new(big.Int))
	if rest.Sign() != 0 {
		quotient.Add(quotient, big.NewInt(int64(rest.Sign())))
	}
	if !quotient.IsInt64() || quotient.Int64() == math.MinInt64 {
		return 0, false
	}
	return quotient.Int64(), true
}
