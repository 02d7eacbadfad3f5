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
        int atOnce = Integer.parseInt(options.optional("clients", "1"));
        List<Object> callers = clients.first(atOnce, operation, options.is("first"));
        Timing.warmUp(operation, callers.get(0), Double.parseDouble(options.optional("warm-up", "0")));
        clients.weighing().begin();
        long[] nanoseconds = Timing.measure(operation, callers, options);
        remember(clients, options);
        return Timing.line(nanoseconds);
    }

    /**
     * {@code weigh}: octets of one request and its answer, of the last call of that kind that was measured alone, if there was one, and of one that is
     * made now otherwise. Where the client has to introduce itself, it has done so before.
     */
    static String weigh(Options options) throws Exception {
        Operation<?, ?> operation = operation(options);
        Clients clients = clients(options, operation);
        Object caller = clients.first(1, operation, false).get(0);
        // A call that begins a conversation is not the one to weigh, but that after it is.
        for (int calls = 0; calls < 2 && !clients.weights().containsKey(kind(options)); calls++) {
            clients.weighing().begin();
            operation.ask(caller);
            remember(clients, options);
        }
        Long octets = clients.weights().get(kind(options));
        if (octets == null) {
            throw new IllegalStateException("no call is made by one request alone");
        }
        return "{\"exit\":0,\"octets\":" + octets + "}";
    }

    /** Remembers what the messages weighed, if there was one request with its answer. */
    private static void remember(Clients clients, Options options) throws Exception {
        Weighing weighing = clients.weighing();
        if (weighing.isOfOneRequest()) {
            clients.weights().put(kind(options), weighing.octets());
        }
    }

    private static String kind(Options options) throws Exception {
        return options.required("operation") + ' ' + options.optional("count", "0");
    }

    /** {@code part}: ends the conversations of the clients of an address, if they are in any; their next calls begin others. */
    static String part(Options options) throws Exception {
        return "{\"exit\":0,\"parted\":" + clients(options, operation(options)).part() + "}";
    }

    /** {@code leave}: forgets the clients of an address. */
    static void leave(Options options) {
        try (Clients clients = KNOWN.remove(options.required("address"))) {
            if (clients == null) {
                throw new IllegalArgumentException(options.required("address") + ": nobody called there");
            }
        }
    }

    private static Operation<?, ?> operation(Options options) throws Exception {
        if (payloads == null) {
            payloads = Payloads.in(Path.of(options.required("payloads")));
        }
        return Operation.named(options.required("operation"), Integer.parseInt(options.optional("count", "0")), payloads);
    }

    private static Clients clients(Options options, Operation<?, ?> operation) throws Exception {
        Tls.trust(options);
        return KNOWN.computeIfAbsent(options.required("address"), address -> new Clients(options, operation.port()));
    }
}
