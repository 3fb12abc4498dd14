package driver;

import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32;

/** The payload of the contract: a header of fixed width, then padding. */
final class Payload {
    static final int HEADER = 92; // bytes
    private static final int CRC_FIELD = 9; // bytes: the checksum and its bar, at the end of the header

    private Payload() {}

    static byte[] encode(Spec spec, int process, int stream, long seq, int qos, char kind, int size) {
        size = Math.max(size, HEADER);
        var head = "RQ1|" + spec.run + "|" + hex(process, 8) + "|" + hex(spec.epoch, 4) + "|" + hex(stream, 8) + "|"
                + hex(seq, 16) + "|" + qos + "|" + kind + "|" + hex(Clock.nanos(), 16) + "|" + hex(size, 8) + "|";
        var payload = new byte[size];
        copy(head, payload, 0);
        for (int i = HEADER, n = (int) ((stream + seq) % 26); i < size; i++, n++) {
            payload[i] = (byte) ('a' + n % 26);
        }
        copy(hex(checksum(payload), 8) + "|", payload, HEADER - CRC_FIELD);
        return payload;
    }

    /** CRC-32 of all but the checksum and its bar; of less than a header it is over all of it. */
    static long checksum(byte[] payload) {
        var crc = new CRC32();
        if (payload.length < HEADER) {
            crc.update(payload);
        } else {
            crc.update(payload, 0, HEADER - CRC_FIELD);
            crc.update(payload, HEADER, payload.length - HEADER);
        }
        return crc.getValue();
    }

    static String hex(long value, int width) {
        var digits = Long.toHexString(value);
        return "0".repeat(Math.max(0, width - digits.length())) + digits;
    }

    private static void copy(String text, byte[] to, int at) {
        var bytes = text.getBytes(StandardCharsets.US_ASCII);
        System.arraycopy(bytes, 0, to, at, bytes.length);
    }
}
