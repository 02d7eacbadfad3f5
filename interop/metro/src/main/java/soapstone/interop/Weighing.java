package soapstone.interop;

import java.io.FilterInputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.concurrent.atomic.AtomicLong;

import com.sun.net.httpserver.Filter;
import com.sun.net.httpserver.HttpExchange;

/** Counts requests and the octets of both messages as a service gets and sends them, without the headers of HTTP; knows the query of each. */
final class Weighing extends Filter {
    private static final ThreadLocal<String> QUERY = new ThreadLocal<>();
    private final AtomicLong octets = new AtomicLong();
    private final AtomicLong requests = new AtomicLong();

    /** The query of the address by which the request of this thread came, or null. */
    static String query() {
        return QUERY.get();
    }

    /** What was counted since this was asked the last time, as a line of JSON. */
    String line() {
        return "{\"exit\":0,\"requests\":" + requests.getAndSet(0) + ",\"octets\":" + octets.getAndSet(0) + "}";
    }

    @Override
    public String description() {
        return "weighs messages";
    }

    @Override
    public void doFilter(HttpExchange exchange, Chain chain) throws IOException {
        QUERY.set(exchange.getRequestURI().getQuery());
        requests.incrementAndGet();
        exchange.setStreams(new CountingInput(exchange.getRequestBody()), new CountingOutput(exchange.getResponseBody()));
        chain.doFilter(exchange);
    }

    private final class CountingOutput extends FilterOutputStream {
        CountingOutput(OutputStream wire) {
            super(wire);
        }

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
    }

    private final class CountingInput extends FilterInputStream {
        CountingInput(InputStream wire) {
            super(wire);
        }

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
    }
}
