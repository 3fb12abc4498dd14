//go:build paho132

package pahomqtt

import mqtt "github.com/eclipse/paho.mqtt.golang"

func webSocketOptions() *mqtt.WebsocketOptions { return &mqtt.WebsocketOptions{} }
