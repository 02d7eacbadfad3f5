package soapstone.interop;

import java.io.IOException;
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
        exchange.setStreams(Counting.reading(exchange.getRequestBody(), octets), Counting.writing(exchange.getResponseBody(), octets));
        chain.doFilter(exchange);
    }
}
