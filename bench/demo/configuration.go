package demo

import (
	_ "embed" // for the configuration
	"fmt"

	"github.com/warmpool/warmpool/config"
)

//go:embed demo.yaml
var configurationYAML []byte

// configuration is that of the demo, compiled as any other.
func configuration() (*config.Config, error) {
	c, err := config.Parse("demo.yaml", configurationYAML)
	if err != nil {
		return nil, fmt.Errorf("configuration of the demo: %w", err)
	}
	return c, nil
}
