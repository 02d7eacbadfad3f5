package soapstone.interop;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;

import com.sun.net.httpserver.Filter;
import com.sun.net.httpserver.HttpExchange;

/** Writes every message as it is on the wire, numbered in the order of the exchanges, into a folder. */
final class Recorder extends Filter {
    private final Path folder;
    private final AtomicInteger exchanges = new AtomicInteger();

    Recorder(Path folder) throws IOException {
        this.folder = Files.createDirectories(folder);
    }

    @Override
    public String description() {
        return "records messages";
    }

    @Override
    public void doFilter(HttpExchange exchange, Chain chain) throws IOException {
        if (!exchange.getRequestMethod().equals("POST")) {
            chain.doFilter(exchange);
            return;
        }
        int number = exchanges.incrementAndGet();
        byte[] request = exchange.getRequestBody().readAllBytes();
        Files.write(folder.resolve(number + ".request.xml"), request);
        Copied answer = new Copied(exchange.getResponseBody());
        exchange.setStreams(new ByteArrayInputStream(request), answer);
        try {
            chain.doFilter(exchange);
        } finally {
            Files.write(folder.resolve(number + ".response.xml"), answer.copy.toByteArray());
        }
    }

    private static final class Copied extends FilterOutputStream {
        private final ByteArrayOutputStream copy = new ByteArrayOutputStream();

        Copied(OutputStream wire) {
            super(wire);
        }

        @Override
        public void write(byte[] octets, int offset, int length) throws IOException {
            out.write(octets, offset, length);
            copy.write(octets, offset, length);
        }

        @Override
        public void write(int octet) throws IOException {
            out.write(octet);
            copy.write(octet);
        }
    }
}
