package link

import "strconv"

// counted is a number with its noun: one node, two nodes.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
