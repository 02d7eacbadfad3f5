package soapstone.interop;

import java.io.FilterInputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.concurrent.atomic.AtomicLong;

/** Streams that count the octets of messages as they pass. */
final class Counting {
    private Counting() {
    }

    /** A stream that is written through. */
    static OutputStream writing(OutputStream wire, AtomicLong octets) {
        return new FilterOutputStream(wire) {
            @Override
            public void write(int octet) throws IOException {
                octets.incrementAndGet();
                out.write(octet);
            }

            @Override
            public void write(byte[] buffer, int offset, int length) throws IOException {
                octets.addAndGet(length);
                out.write(buffer, offset, length);
            }
        };
    }

    /** A stream that is read through. */
    static InputStream reading(InputStream wire, AtomicLong octets) {
        return new FilterInputStream(wire) {
            @Override
            public int read() throws IOException {
                int octet = in.read();
                octets.addAndGet(octet < 0 ? 0 : 1);
                return octet;
            }

            @Override
            public int read(byte[] buffer, int offset, int length) throws IOException {
                int count = in.read(buffer, offset, length);
                octets.addAndGet(Math.max(count, 0));
                return count;
            }
        };
    }
}
