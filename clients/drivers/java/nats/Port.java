import driver.Ack;
import driver.Conn;
import io.nats.client.Options;
import io.nats.client.impl.SocketDataPort;
import java.io.IOException;

/** What the SDK reads and writes a connection by. It makes one for each attempt, by name. */
public final class Port extends SocketDataPort {
    private Link link;
    private Conn conn;

    @Override
    public void afterConstruct(Options options) {
        link = (Link) options.getConnectionListener();
        conn = link.dial();
    }

    @Override
    public int read(byte[] to, int at, int length) throws IOException {
        try {
            var n = super.read(to, at, length);
            if (n < 0) {
                over("closed by the broker");
            }
            return n;
        } catch (IOException e) {
            over(Ack.words(e));
            throw e;
        }
    }

    @Override
    public void close() throws IOException {
        over("the SDK closed it");
        super.close();
    }

    private void over(String why) {
        conn.over(link.isClosed() ? "closed by the client" : why);
    }
}
