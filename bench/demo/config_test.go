package demo

import "testing"

func TestConfigurationIsValid(t *testing.T) {
	c, err := configuration()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range c.Warnings {
		t.Errorf("warning: %s", w)
	}
	if len(c.Services) != 1 || c.Services[0].Policy.Max != largest || c.Services[0].Policy.Min != smallest || c.Services[0].Policy.Name != service {
		t.Errorf("the configuration does not describe the service of the scenario: %+v", c.Services)
	}
	if c.Services[0].Forecast.Rate == nil || c.Services[0].Forecast.Mode != "active" {
		t.Errorf("forecast %+v", c.Services[0].Forecast)
	}
}
