//go:build !paho132

package pahomqtt

import (
	"net/http"
	"net/url"

	mqtt "github.com/eclipse/paho.mqtt.golang"
)

func webSocketOptions() *mqtt.WebsocketOptions { return &mqtt.WebsocketOptions{Proxy: noProxy} }

func noProxy(*http.Request) (*url.URL, error) { return nil, nil }
