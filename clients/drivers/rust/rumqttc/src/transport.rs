//! TCP, TLS and WebSocket.

use driver::spec::Client;

pub struct Transport {
    url: Option<&'static str>, // scheme of the address, where it is a URL
    sdk: rumqttc::Transport,
}

impl Transport {
    pub fn new(client: &Client) -> Result<Transport, String> {
        match client.transport.as_str() {
            "" | "tcp" => Ok(Transport { url: None, sdk: rumqttc::Transport::tcp() }),
            "ws" => Ok(Transport { url: Some("ws"), sdk: rumqttc::Transport::ws() }),
            "tls" => Ok(Transport { url: None, sdk: rumqttc::Transport::tls_with_config(crate::tls::config(&client.ca)?) }),
            "wss" => Ok(Transport { url: Some("wss"), sdk: rumqttc::Transport::wss_with_config(crate::tls::config(&client.ca)?) }),
            other => Err(format!("this driver has no transport {other:?}")),
        }
    }

    pub fn sdk(&self) -> rumqttc::Transport {
        self.sdk.clone()
    }

    /// The SDK's address of an endpoint: a host, or a URL, and a port.
    pub fn address(&self, endpoint: &str) -> Result<(String, u16), String> {
        let (host, port) = endpoint.rsplit_once(':').ok_or_else(|| format!("endpoint {endpoint:?} has no port"))?;
        let port = port.parse().map_err(|e| format!("endpoint {endpoint:?}: {e}"))?;
        match self.url {
            Some(scheme) => Ok((format!("{scheme}://{endpoint}/mqtt"), port)),
            None => Ok((host.trim_matches(&['[', ']'][..]).to_string(), port)),
        }
    }
}
