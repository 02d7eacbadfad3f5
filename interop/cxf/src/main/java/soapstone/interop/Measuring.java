package soapstone.interop;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * Calls sample services and takes the time: from when a client's method is called until it gives back the answer, as an
 * object.
 *
 * <p>The clients of an address are kept from job to job until it is left. Every answer is checked; a wrong one is a
 * failure, never a figure.
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
        warmUp(operation, callers.get(0), Double.parseDouble(options.optional("warm-up", "0")));
        long[] nanoseconds;
        clients.weighing().begin();
        if (options.optional("per-second") != null) {
            nanoseconds = paced(operation, callers.get(0), Double.parseDouble(options.required("per-second")),
                Double.parseDouble(options.required("seconds")));
        } else {
            nanoseconds = together(operation, callers, Integer.parseInt(options.optional("requests", "1")));
        }
        remember(clients, options);
        String micros = Arrays.stream(nanoseconds).mapToObj(Measuring::micros).collect(Collectors.joining(","));
        return "{\"exit\":0,\"us\":[" + micros + "]}";
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

    private static void warmUp(Operation<?, ?> operation, Object client, double seconds) throws Exception {
        long end = System.nanoTime() + (long) (seconds * TimeUnit.SECONDS.toNanos(1));
        while (System.nanoTime() < end) {
            operation.ask(client);
        }
    }

    private static long[] together(Operation<?, ?> operation, List<Object> clients, int requests) throws Exception {
        List<Callable<long[]>> tasks = new ArrayList<>();
        for (Object client : clients) {
            tasks.add(() -> {
                long[] times = new long[requests];
                for (int i = 0; i < requests; i++) {
                    times[i] = operation.ask(client);
                }
                return times;
            });
        }
        if (tasks.size() == 1) {
            return tasks.get(0).call();
        }
        ExecutorService threads = Executors.newFixedThreadPool(tasks.size());
        try {
            List<long[]> times = new ArrayList<>();
            for (Future<long[]> done : threads.invokeAll(tasks)) {
                times.add(result(done));
            }
            return times.stream().flatMapToLong(Arrays::stream).toArray();
        } finally {
            threads.shutdown();
        }
    }

    /** A request that cannot begin when it is due has waited: its time counts from when it was due. */
    private static long[] paced(Operation<?, ?> operation, Object client, double perSecond, double seconds) throws Exception {
        int count = (int) Math.ceil(perSecond * seconds);
        ExecutorService threads = Executors.newCachedThreadPool();
        try {
            List<Future<Long>> calls = new ArrayList<>();
            long start = System.nanoTime();
            for (int i = 0; i < count; i++) {
                long due = start + (long) (i * (TimeUnit.SECONDS.toNanos(1) / perSecond));
                TimeUnit.NANOSECONDS.sleep(due - System.nanoTime());
                calls.add(threads.submit(() -> {
                    long late = System.nanoTime() - due;
                    return late + operation.ask(client);
                }));
            }
            long[] times = new long[count];
            for (int i = 0; i < count; i++) {
                times[i] = result(calls.get(i));
            }
            return times;
        } finally {
            threads.shutdown();
        }
    }

    static <T> T result(Future<T> done) throws Exception {
        try {
            return done.get();
        } catch (ExecutionException e) {
            throw e.getCause() instanceof Exception cause ? cause : e;
        }
    }

    private static String micros(long nanoseconds) {
        return String.format(Locale.ROOT, "%.1f", nanoseconds / 1e3);
    }
}
