package soapstone.interop;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Calls sample services and takes the time.
 *
 * <p>The clients of an address are kept from job to job until it is left.
 */
final class Measuring {
    private static final Map<String, Clients> KNOWN = new HashMap<>();
    private static Payloads payloads;

    private Measuring() {
    }

    /**
     * {@code measure}: so many {@code --clients} at once, each {@code --requests} one after another; or, with
     * {@code --per-second} and {@code --seconds}, requests that begin at a steady rate. Nothing of {@code --warm-up} seconds
     * before it counts, and the first call of a new client only with {@code --first true}.
     */
    static String measure(Options options) throws Exception {
        Operation<?, ?> operation = operation(options);
        Clients clients = clients(options, operation);
        ClassLoader before = Thread.currentThread().getContextClassLoader();
        Thread.currentThread().setContextClassLoader(clients.configuration());
        try {
            int atOnce = Integer.parseInt(options.optional("clients", "1"));
            List<Object> callers = clients.first(atOnce, operation, options.is("first"));
            Timing.warmUp(operation, callers.get(0), Double.parseDouble(options.optional("warm-up", "0")));
            return Timing.line(Timing.measure(operation, callers, options));
        } finally {
            Thread.currentThread().setContextClassLoader(before);
        }
    }

    /** {@code part}: ends the conversations of the clients of an address, if they are in any; their next calls begin others. */
    static String part(Options options) throws Exception {
        return "{\"exit\":0,\"parted\":" + clients(options, operation(options)).part() + "}";
    }

    /** {@code leave}: forgets the clients of an address. */
    static void leave(Options options) throws Exception {
        Clients clients = KNOWN.remove(options.required("address"));
        if (clients == null) {
            throw new IllegalArgumentException(options.required("address") + ": nobody called there");
        }
        clients.leave();
    }

    private static Operation<?, ?> operation(Options options) throws Exception {
        if (payloads == null) {
            payloads = Payloads.in(Path.of(options.required("payloads")));
        }
        return Operation.named(options.required("operation"), Integer.parseInt(options.optional("count", "0")), payloads);
    }

    private static Clients clients(Options options, Operation<?, ?> operation) throws Exception {
        Tls.trust(options.required("trust"));
        String address = options.required("address");
        if (!KNOWN.containsKey(address)) {
            KNOWN.put(address, new Clients(options, operation.port()));
        }
        return KNOWN.get(address);
    }
}
