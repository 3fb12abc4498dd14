package driver;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import javax.net.SocketFactory;
import javax.net.ssl.SSLSocketFactory;

/**
 * The sockets that an SDK makes, so that they can be closed where it does not: it waits for a CONNACK for ever, and for
 * a write to a broker that is frozen.
 */
public final class Sockets {
    private final List<Socket> made = new ArrayList<>();

    /** What to make them with: over TLS where there is a certificate to trust. */
    public SocketFactory factory(String ca) throws Exception {
        return ca.isEmpty() ? new Plain() : new Tls(Trust.sockets(ca));
    }

    /** Closes them all. */
    public synchronized void close() {
        for (var socket : made) {
            try {
                socket.close();
            } catch (IOException e) {
                // It is as good as closed.
            }
        }
        made.clear();
    }

    private synchronized Socket keep(Socket socket) {
        made.removeIf(Socket::isClosed);
        made.add(socket);
        return socket;
    }

    private final class Plain extends SocketFactory {
        private final SocketFactory make = SocketFactory.getDefault();

        @Override
        public Socket createSocket() throws IOException {
            return keep(make.createSocket());
        }

        @Override
        public Socket createSocket(String host, int port) throws IOException {
            return keep(make.createSocket(host, port));
        }

        @Override
        public Socket createSocket(String host, int port, InetAddress from, int fromPort) throws IOException {
            return keep(make.createSocket(host, port, from, fromPort));
        }

        @Override
        public Socket createSocket(InetAddress host, int port) throws IOException {
            return keep(make.createSocket(host, port));
        }

        @Override
        public Socket createSocket(InetAddress host, int port, InetAddress from, int fromPort) throws IOException {
            return keep(make.createSocket(host, port, from, fromPort));
        }
    }

    private final class Tls extends SSLSocketFactory {
        private final SSLSocketFactory make;

        Tls(SSLSocketFactory make) {
            this.make = make;
        }

        @Override
        public Socket createSocket() throws IOException {
            return keep(make.createSocket());
        }

        @Override
        public Socket createSocket(Socket over, String host, int port, boolean close) throws IOException {
            return keep(make.createSocket(over, host, port, close));
        }

        @Override
        public Socket createSocket(String host, int port) throws IOException {
            return keep(make.createSocket(host, port));
        }

        @Override
        public Socket createSocket(String host, int port, InetAddress from, int fromPort) throws IOException {
            return keep(make.createSocket(host, port, from, fromPort));
        }

        @Override
        public Socket createSocket(InetAddress host, int port) throws IOException {
            return keep(make.createSocket(host, port));
        }

        @Override
        public Socket createSocket(InetAddress host, int port, InetAddress from, int fromPort) throws IOException {
            return keep(make.createSocket(host, port, from, fromPort));
        }

        @Override
        public String[] getDefaultCipherSuites() {
            return make.getDefaultCipherSuites();
        }

        @Override
        public String[] getSupportedCipherSuites() {
            return make.getSupportedCipherSuites();
        }
    }
}
