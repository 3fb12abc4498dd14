package driver;

import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;
import javax.net.ssl.X509TrustManager;

/** Trust in the certificates of one file, whatever the name of the host. */
public final class Trust {
    private Trust() {}

    /** Trusts the certificates of a PEM file. */
    public static TrustManagerFactory of(String file) throws Exception {
        var store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, null);
        try (var in = Files.newInputStream(Path.of(file))) {
            for (var certificate : CertificateFactory.getInstance("X.509").generateCertificates(in)) {
                store.setCertificateEntry("ca" + store.size(), certificate);
            }
        }
        var factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(store);
        return factory;
    }

    /** Makes sockets that trust the certificates of a PEM file. */
    static SSLSocketFactory sockets(String file) throws Exception {
        for (var manager : of(file).getTrustManagers()) {
            if (manager instanceof X509TrustManager) {
                var context = SSLContext.getInstance("TLS");
                context.init(null, new TrustManager[] {new AnyName((X509TrustManager) manager)}, null);
                return context.getSocketFactory();
            }
        }
        throw new GeneralSecurityException("this Java has no X.509");
    }

    /** Being an extended one, it and not the runtime compares names; it does not. */
    private static final class AnyName extends X509ExtendedTrustManager {
        private final X509TrustManager chains;

        AnyName(X509TrustManager chains) {
            this.chains = chains;
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type) throws CertificateException {
            // Not by overload: the manager of the runtime compares names where it is given a socket.
            chains.checkServerTrusted(chain, type);
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type, Socket s) throws CertificateException {
            checkServerTrusted(chain, type);
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine e) throws CertificateException {
            checkServerTrusted(chain, type);
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type) throws CertificateException {
            throw new CertificateException("this is a client");
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type, Socket s) throws CertificateException {
            checkClientTrusted(chain, type);
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine e) throws CertificateException {
            checkClientTrusted(chain, type);
        }

        @Override
        public X509Certificate[] getAcceptedIssuers() {
            return chains.getAcceptedIssuers();
        }
    }
}
