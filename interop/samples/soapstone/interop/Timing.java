package soapstone.interop;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * Takes the time of calls: from when a client's method is called until it gives back the answer, as an object.
 *
 * <p>Every answer is checked; a wrong one is a failure, never a figure.
 */
final class Timing {
    private Timing() {
    }

    /** Clients that are new make the first call of each, outside of the time: connections, policies and conversations are made with it. */
    static void introduce(List<Object> fresh, Operation<?, ?> operation) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(Runtime.getRuntime().availableProcessors());
        try {
            List<Callable<Long>> calls = new ArrayList<>();
            fresh.forEach(client -> calls.add(() -> operation.ask(client)));
            for (Future<Long> call : threads.invokeAll(calls)) {
                result(call);
            }
        } finally {
            threads.shutdown();
        }
    }

    /** Calls for some seconds that do not count. */
    static void warmUp(Operation<?, ?> operation, Object client, double seconds) throws Exception {
        long end = System.nanoTime() + (long) (seconds * TimeUnit.SECONDS.toNanos(1));
        while (System.nanoTime() < end) {
            operation.ask(client);
        }
    }

    /**
     * The nanoseconds of what a job asks for: each client {@code --requests} one after another; or, with {@code --per-second} and
     * {@code --seconds}, requests of the first client that begin at a steady rate.
     */
    static long[] measure(Operation<?, ?> operation, List<Object> clients, Options options) throws Exception {
        if (options.optional("per-second") != null) {
            return paced(operation, clients.get(0), Double.parseDouble(options.required("per-second")),
                Double.parseDouble(options.required("seconds")));
        }
        return together(operation, clients, Integer.parseInt(options.optional("requests", "1")));
    }

    /** Times as the line of JSON that a job answers. */
    static String line(long[] nanoseconds) {
        String micros = Arrays.stream(nanoseconds).mapToObj(Timing::micros).collect(Collectors.joining(","));
        return "{\"exit\":0,\"us\":[" + micros + "]}";
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

    private static <T> T result(Future<T> done) throws Exception {
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
