//! TLS that trusts the authorities in a file and compares no name: endpoints
//! of an experiment are addresses that no certificate knows.

use std::fs::File;
use std::io::BufReader;
use std::sync::Arc;

use rumqttc::TlsConfiguration;
use rustls::{ClientConfig, Error, RootCertStore};

pub fn config(ca: &str) -> Result<TlsConfiguration, String> {
    let say = |e: &dyn std::fmt::Display| format!("certificate {ca:?}: {e}");
    let mut file = BufReader::new(File::open(ca).map_err(|e| say(&e))?);
    let mut roots = RootCertStore::empty();
    for certificate in certificates(&mut file).map_err(|e| say(&e))? {
        #[cfg(not(feature = "since-0_24"))]
        let certificate = &certificate;
        roots.add(certificate).map_err(|e| say(&e))?;
    }
    if roots.is_empty() {
        return Err(say(&"there is none in the file"));
    }
    Ok(TlsConfiguration::Rustls(Arc::new(client_config(roots).map_err(|e| say(&e))?)))
}

#[cfg(feature = "since-0_24")]
use since_0_24::{certificates, client_config};

#[cfg(feature = "since-0_24")]
mod since_0_24 {
    use super::*;
    use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
    use rustls::client::WebPkiServerVerifier;
    use rustls::crypto::{ring, CryptoProvider};
    use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
    use rustls::{CertificateError, DigitallySignedStruct, SignatureScheme};

    pub fn certificates(file: &mut BufReader<File>) -> std::io::Result<Vec<CertificateDer<'static>>> {
        rustls_pemfile::certs(file).collect()
    }

    pub fn client_config(roots: RootCertStore) -> Result<ClientConfig, Error> {
        let provider: Arc<CryptoProvider> = Arc::new(ring::default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
            .build()
            .map_err(|e| Error::General(e.to_string()))?;
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        Ok(builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyName(verifier))).with_no_client_auth())
    }

    #[derive(Debug)]
    struct AnyName(Arc<WebPkiServerVerifier>);

    impl ServerCertVerifier for AnyName {
        fn verify_server_cert(
            &self, end: &CertificateDer<'_>, between: &[CertificateDer<'_>], name: &ServerName<'_>, ocsp: &[u8], now: UnixTime,
        ) -> Result<ServerCertVerified, Error> {
            // The name is the last that is looked at.
            match self.0.verify_server_cert(end, between, name, ocsp, now) {
                Err(Error::InvalidCertificate(why)) if other_name(&why) => Ok(ServerCertVerified::assertion()),
                verified => verified,
            }
        }

        fn verify_tls12_signature(
            &self, message: &[u8], cert: &CertificateDer<'_>, dss: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            self.0.verify_tls12_signature(message, cert, dss)
        }

        fn verify_tls13_signature(
            &self, message: &[u8], cert: &CertificateDer<'_>, dss: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            self.0.verify_tls13_signature(message, cert, dss)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            self.0.supported_verify_schemes()
        }
    }

    fn other_name(why: &CertificateError) -> bool {
        match why {
            CertificateError::NotValidForName => true,
            #[cfg(feature = "since-0_25")]
            CertificateError::NotValidForNameContext { .. } => true,
            _ => false,
        }
    }
}

#[cfg(not(feature = "since-0_24"))]
use before_0_24::{certificates, client_config};

#[cfg(not(feature = "since-0_24"))]
mod before_0_24 {
    use super::*;
    use rustls::client::{ServerCertVerified, ServerCertVerifier, ServerName, WebPkiVerifier};
    use rustls::Certificate;
    use std::time::SystemTime;

    pub fn certificates(file: &mut BufReader<File>) -> std::io::Result<Vec<Certificate>> {
        Ok(rustls_pemfile::certs(file)?.into_iter().map(Certificate).collect())
    }

    pub fn client_config(roots: RootCertStore) -> Result<ClientConfig, Error> {
        let verifier = Arc::new(AnyName(WebPkiVerifier::new(roots, None)));
        Ok(ClientConfig::builder().with_safe_defaults().with_custom_certificate_verifier(verifier).with_no_client_auth())
    }

    struct AnyName(WebPkiVerifier);

    impl ServerCertVerifier for AnyName {
        fn verify_server_cert(
            &self, end: &Certificate, between: &[Certificate], _: &ServerName, scts: &mut dyn Iterator<Item = &[u8]>,
            ocsp: &[u8], now: SystemTime,
        ) -> Result<ServerCertVerified, Error> {
            // The name is the last that is looked at, if it is one: addresses
            // are refused before anything else.
            let name = ServerName::try_from("localhost").expect("a name");
            match self.0.verify_server_cert(end, between, &name, scts, ocsp, now) {
                Err(why) if other_name(&why) => Ok(ServerCertVerified::assertion()),
                verified => verified,
            }
        }
    }

    #[cfg(feature = "since-0_22")]
    fn other_name(why: &Error) -> bool {
        matches!(why, Error::InvalidCertificate(rustls::CertificateError::NotValidForName))
    }

    #[cfg(not(feature = "since-0_22"))]
    fn other_name(why: &Error) -> bool {
        matches!(why, Error::InvalidCertificateData(text) if text.contains("CertNotValidForName"))
    }
}
